"""Random misspellings of lines, and pairs of misspelled and correct lines to train on.

Every draw is f(seed, line number, copy number).
"""

import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import accumulate
from pathlib import Path
from random import Random
from typing import NamedTuple

from weft.core.errors import UserError
from weft.core.formatting import pluralize, quote
from weft.core.seeds import derive_seed
from weft.data.error_models import ErrorModel, misspellings
from weft.data.text_files import read_lines

WORD_PATTERN = re.compile(r"\S+")
CACHED_WORDS = 256  # words whose misspellings are cached for the next copy of a line


class TypoGenerator:
    """Misspells the words of lines.

    errors: mean number of edits of a misspelled word, geometrically distributed, but at most half as many as it has
    letters. clean: probability that a word stays as it is.
    """

    def __init__(self, model: ErrorModel, *, errors: float = 1.2, clean: float = 0.1, seed: int = 1):
        self.errors, self.clean, self.seed = errors, clean, seed
        self._choices = lru_cache(CACHED_WORDS)(lambda spelling, word: _typo_choices(spelling, word, model))

    def __call__(self, line: str, number: int, copy: int) -> str:
        """Return the line with errors in its words; whitespace is preserved."""
        rng = Random(derive_seed(self.seed, "noise", number, copy))  # noqa: S311 (not for secrets)
        return WORD_PATTERN.sub(lambda match: self._misspell(match[0], rng), line)

    def _misspell(self, word: str, rng: Random) -> str:
        if rng.random() < self.clean:
            return word
        count = 1  # P(n) = (1 / errors) (1 - 1 / errors)^(n - 1)
        while count < len(word) // 2 and rng.random() < 1 - 1 / self.errors:
            count += 1
        spelling = word
        for _ in range(count):
            spellings, cumulative_rates = self._choices(spelling, word)
            if spellings:
                (spelling,) = rng.choices(spellings, cum_weights=cumulative_rates)
        return spelling


def _typo_choices(spelling: str, word: str, model: ErrorModel) -> tuple[list[str], list[float]]:
    """Return the results of one more edit and their cumulative rates; never the correct word."""
    rates = misspellings(spelling, model)
    rates.pop(word, None)
    return list(rates), list(accumulate(rates.values()))


class CleanLine(NamedTuple):
    """A correct line, its number in the file, and the number of pairs to make of it."""

    text: str
    number: int
    copies: int


def read_clean_lines(lines: Iterable[str], name: str, copies: int) -> Iterator[CleanLine]:
    """Parse lines of text with an optional tab and number of copies; blank lines are skipped."""
    number = 0
    for number, line in enumerate(lines, start=1):
        text, tab, count = line.partition("\t")
        if not text.strip():
            continue
        if tab and not (count.isascii() and count.isdigit()):
            raise UserError(
                f"{name}, line {number}: expected a word, or a word, a tab and a number of copies, got {quote(count)} "
                "after the tab"
            )
        yield CleanLine(text, number, int(count) if tab else copies)
    if not number:
        raise UserError(f"{name}: is empty; expected correct words, one per line")


def read_held_out_typos(paths: Iterable[Path]) -> frozenset[str]:
    """Return the misspellings in the first column of test sets."""
    return frozenset(casefold_key(line.partition("\t")[0]) for path in paths for line in read_lines(path))


def casefold_key(line: str) -> str:
    return line.strip().casefold()


def check_tsv_output(output: Path | None) -> None:
    """Raise UserError if pairs could not be read again from a file of this name; devices are accepted."""
    if output is not None and output.suffix != ".tsv" and Path("/dev") not in output.parents:
        raise UserError(f"{output}: weft train reads pairs from a .tsv. Use a name that ends in .tsv.")


class TypoPairs:
    """Iterates once over pairs of misspelled and correct lines.

    made: pairs so far. clean: pairs without an error. excluded: pairs whose misspelling is in `held_out`, which are
    skipped, since a model must not be trained on its test data.
    """

    def __init__(self, lines: Iterable[CleanLine], generator: TypoGenerator, held_out: Collection[str] = frozenset()):
        self.made = self.clean = self.excluded = 0
        self._lines, self._generator, self._held_out = lines, generator, held_out

    def __iter__(self) -> Iterator[tuple[str, str]]:
        for text, number, copies in self._lines:
            for copy in range(1, copies + 1):
                noisy = self._generator(text, number, copy)
                if casefold_key(noisy) in self._held_out:
                    self.excluded += 1
                    continue
                self.made += 1
                self.clean += noisy == text
                yield noisy, text

    def summary(self, held_out: Sequence[Path]) -> str:
        text = f"made {pluralize(self.made, 'pair')}, {self.clean:,} of them without an error"
        if held_out:
            names = " or ".join(map(str, held_out))
            text += f"; {pluralize(self.excluded, 'pair')} excluded, since the misspelling is in {names}"
        return text
