"""Pairs to train on: lines with mistakes, each with the right line."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from weft.config.wording import quoted
from weft.core.errors import UserError
from weft.data.lines import read_lines
from weft.noise.noise import Noise


class Wanted(NamedTuple):
    """A right line, its number in the file, and how many pairs to make of it."""

    text: str
    number: int
    copies: int


def read_words(lines: Iterable[str], name: str, copies: int) -> Iterator[Wanted]:
    """A word or more a line, `copies` of each; or after a tab, how many of this one. Blank lines are passed over."""
    number = 0
    for number, line in enumerate(lines, start=1):
        text, tab, count = line.partition("\t")
        if text.strip():
            yield Wanted(text, number, _copies(count, f"{name}, line {number}") if tab else copies)
    if not number:
        raise UserError(f"{name}: is empty; wanted right words, one a line")


def _copies(count: str, place: str) -> int:
    if not (count.isascii() and count.isdigit()):
        raise UserError(
            f"{place}: wanted a word, or a word, a tab and how many copies to make of it, got {quoted(count)} "
            "after the tab"
        )
    return int(count)


def read_held_out(paths: Iterable[Path]) -> frozenset[str]:
    """The misspellings of test sets: the first column of each line."""
    return frozenset(key(line.partition("\t")[0]) for path in paths for line in read_lines(path))


def key(line: str) -> str:
    """By which a line is known again, whatever its case."""
    return line.strip().casefold()


def check_table(output: Path | None) -> None:
    """Will pairs be read again from a file of this name? Of standard output, or what else is a device, nobody knows."""
    if output is not None and output.suffix != ".tsv" and Path("/dev") not in output.parents:
        raise UserError(f"{output}: pairs are read from a .tsv by weft train; give a name that ends so")


class NoisyPairs:
    """Each line as often as it is wanted, with mistakes, and beside it the right line; once, and counted meanwhile.

    made: pairs so far. clean: those in which nothing is wrong. left_out: those that stand in `held_out`, and are not
    given, since a model must not have seen what it is tested with.
    """

    def __init__(self, wanted: Iterable[Wanted], noise: Noise, held_out: Collection[str] = frozenset()):
        self.made = self.clean = self.left_out = 0
        self._wanted, self._noise, self._held_out = wanted, noise, held_out

    def __iter__(self) -> Iterator[tuple[str, str]]:
        for text, number, copies in self._wanted:
            for copy in range(1, copies + 1):
                noisy = self._noise(text, number, copy)
                if key(noisy) in self._held_out:
                    self.left_out += 1
                    continue
                self.made += 1
                self.clean += noisy == text
                yield noisy, text

    def told(self, held_out: Sequence[Path]) -> str:
        """What was made, in plain words."""
        text = f"made {_pairs(self.made)}, {self.clean:,} of them without a mistake"
        if held_out:
            names = " or ".join(map(str, held_out))
            text += f"; {_pairs(self.left_out)} left out, since the misspelling stands in {names}"
        return text


def _pairs(count: int) -> str:
    return "1 pair" if count == 1 else f"{count:,} pairs"
