"""Words that mean the same, from a file."""

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from weft.core.errors import UserError
from weft.data.lines import read_lines


@dataclass(frozen=True)
class Synonyms:
    """For each word the numbers of the sets that it stands in; two words with a set in common are synonyms."""

    name: str
    sets: Mapping[str, frozenset[int]] = field(hash=False)

    def of(self, word: str) -> frozenset[int]:
        return self.sets.get(word, frozenset())


NO_SYNONYMS = Synonyms("none", {})


def read_synonyms(path: Path) -> Synonyms:
    """A line is a set of words, with spaces between; a word with several meanings stands in several lines."""
    sets: defaultdict[str, set[int]] = defaultdict(set)
    for number, line in enumerate(read_lines(path)):
        for word in line.lower().split():
            sets[word].add(number)
    if not sets:
        raise UserError(f"{path}: holds no words; each line of it should be words that mean the same")
    return Synonyms(path.name, {word: frozenset(numbers) for word, numbers in sets.items()})
