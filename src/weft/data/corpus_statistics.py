"""Statistics of a tokenized corpus: pairs read and dropped, tokens of each side, and the problems found in a
sample of the pairs.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from weft.data.checks.pair_problems import find_line_problems, find_pair_problems
from weft.data.checks.problem_kinds import PROBLEM_KINDS
from weft.data.pair_files import LinePair
from weft.data.unicode_scripts import count_unexpected_scripts, line_script

SAMPLE_SIZE = 10_000  # pairs: takes a fraction of a second


@dataclass(frozen=True)
class SideStatistics:
    """Tokens of one side. With byte fallback, no token is unknown."""

    tokens: int
    unknown_tokens: int
    byte_tokens: int
    has_byte_fallback: bool


@dataclass(frozen=True)
class SampledProblems:
    """pairs: size of the sample. counts: pairs that have each kind of problem, by the names of PROBLEM_KINDS."""

    pairs: int
    counts: dict[str, int]


@dataclass(frozen=True)
class CorpusStatistics:
    """dropped: pairs by reason. source, target: of the pairs kept. corpora: pairs kept of each corpus of a mix."""

    pairs_read: int
    dropped: dict[str, int]
    source: SideStatistics
    target: SideStatistics
    corpora: list[int]
    sample: SampledProblems

    @property
    def pairs_kept(self) -> int:
        return self.pairs_read - sum(self.dropped.values())

    @classmethod
    def from_json(cls, value: dict[str, Any]) -> CorpusStatistics:
        sides = SideStatistics(**value["source"]), SideStatistics(**value["target"])
        return cls(value["pairs_read"], value["dropped"], *sides, value["corpora"], SampledProblems(**value["sample"]))


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
