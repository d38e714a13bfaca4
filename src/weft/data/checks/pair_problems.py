"""Problems that the two lines of a pair show: control characters, byte order marks, mojibake, empty or identical
sides. Used by `weft check`, and on a sample of the pairs by the warnings before training.
"""

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from weft.data.checks.encodings import is_mojibake, repair_mojibake
from weft.data.checks.problem_kinds import PROBLEM_KINDS, Problem
from weft.data.pair_files import LinePair
from weft.data.unicode_scripts import count_unexpected_scripts, line_script

BOM_CHARACTER = "\ufeff"
REPLACEMENT_CHARACTER = "\ufffd"
CONTROL_PATTERN = re.compile("[\x00-\x08\x0a-\x1f\x7f-\x9f\u2028\u2029]")  # all but the tab
BREAK_PATTERN = re.compile("[\x0a-\x0d\x1c-\x1f\x85\u2028\u2029]")  # those of them that separate words
SAMPLE_SIZE = 10_000  # pairs: takes a fraction of a second
MIN_UNSPACED_LENGTH = 20  # characters: longer than a word in most languages


def find_pair_problems(source: str, target: str) -> int:
    """Return the bits of the problems of a pair."""
    found = find_character_problems(source) | find_character_problems(target)
    source, target = source.strip(), target.strip()
    if not source or not target:
        return found | Problem.EMPTY_SIDE
    return found | Problem.IDENTICAL_SIDES if source == target and _is_running_text(source) else found


def find_line_problems(line: str) -> int:
    """Return the bits of the problems of a monolingual line."""
    return find_character_problems(line) | (0 if line.strip() else Problem.EMPTY_SIDE)


def _is_running_text(line: str) -> bool:
    """Whether a line is more than a single word; scripts without spaces are recognized by length."""
    return (" " in line or len(line) >= MIN_UNSPACED_LENGTH) and any(map(str.isalpha, line))


def find_character_problems(line: str) -> int:
    if line.isascii() and line.isprintable():
        return 0
    found = Problem.CONTROL_CHARACTERS if CONTROL_PATTERN.search(line) else 0
    if BOM_CHARACTER in line:
        found |= Problem.BYTE_ORDER_MARK
    if REPLACEMENT_CHARACTER in line:
        found |= Problem.REPLACEMENT_CHARACTERS
    return found | Problem.MOJIBAKE if is_mojibake(line) else found


def repair_line(line: str, kinds: int) -> str:
    """Repair the problems of these kinds as far as possible."""
    while (repaired := _repair_once(line, kinds)) != line:
        line = repaired
    return line


def _repair_once(line: str, kinds: int) -> str:
    found = find_character_problems(line) & kinds
    if found & Problem.MOJIBAKE and (repaired := repair_mojibake(line)) != line:
        return repaired
    if found & Problem.BYTE_ORDER_MARK:
        line = line.replace(BOM_CHARACTER, "")
    if found & Problem.CONTROL_CHARACTERS:
        line = CONTROL_PATTERN.sub("", BREAK_PATTERN.sub(" ", line))
    return line


@dataclass(frozen=True)
class SampledProblems:
    """pairs: size of the sample. counts: pairs that have each kind of problem, by the names of PROBLEM_KINDS."""

    pairs: int
    counts: dict[str, int]


class ProblemSampler:
    """Checks every nth of `count` pairs. target_only: the source is empty or an image."""

    def __init__(self, count: int, *, target_only: bool):
        self._step = 1 + count // SAMPLE_SIZE
        self._sides = (1,) if target_only else (0, 1)
        self._pairs = 0
        self._problem_counts: Counter[int] = Counter()
        self._scripts: tuple[Counter[str], Counter[str]] = (Counter(), Counter())

    def add(self, pairs: Sequence[LinePair], first: int) -> None:
        """Check the sampled ones of these pairs. first: the index of the first in the corpus."""
        for pair in pairs[-first % self._step :: self._step]:
            self._pairs += 1
            problems = find_pair_problems(*pair) if len(self._sides) == 2 else find_line_problems(pair[1])
            self._problem_counts[problems] += 1
            for side in self._sides:
                self._scripts[side][line_script(pair[side])] += 1

    def summary(self) -> SampledProblems:
        counts = {
            name: sum(count for problems, count in self._problem_counts.items() if problems & kind.bit)
            for name, kind in PROBLEM_KINDS.items()
        }
        counts["script"] = max(map(count_unexpected_scripts, self._scripts))  # a pair may be counted on both sides
        return SampledProblems(self._pairs, {name: count for name, count in counts.items() if count})
