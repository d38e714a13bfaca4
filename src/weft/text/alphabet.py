"""The letters of a text that are worth a piece of their own."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator

from tokenizers.normalizers import Normalizer

from weft.core.errors import UserError
from weft.text.rereading import readable_again


def count_letters(lines: Iterable[str]) -> Counter[str]:
    counts: Counter[str] = Counter()
    for line in lines:
        counts.update(line)
    return counts


def frequent_letters(counts: Counter[str], min_count: int) -> list[str]:
    """Letters seen at least `min_count` times, the most frequent first, equals in the order of Unicode."""
    letters = sorted((letter for letter in counts if counts[letter] >= min_count), key=lambda x: (-counts[x], x))
    if not letters:
        raise UserError(f"a tokenizer cannot be learned: no letter stands in the text at least {min_count} times")
    return letters


def learnable(lines: Iterable[str], normalizer: Normalizer, room: int, min_count: int) -> Iterator[str]:
    """The normalised lines without rare letters, and without those for which there is no room; they are read twice.

    What is taken out here is later spelled in bytes (or unknown), so that these pieces too are seen in training.
    """
    again = readable_again(lines)
    counts = count_letters(map(normalizer.normalize_str, again))
    others = set(counts).difference(frequent_letters(counts, min_count)[:room])
    normalised = map(normalizer.normalize_str, again)
    if not others:
        return normalised
    rare = re.compile("[" + "".join(map(re.escape, sorted(others))) + "]")
    return (rare.sub("", line) for line in normalised)
