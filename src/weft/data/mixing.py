"""How often the pairs of each corpus of a mix are used in an epoch.

The pairs of a corpus follow each other without end: round after round, each round all of them, in an order of its own.
With `times` t, an epoch takes the next t n of n pairs. So no pair comes once more before all others came as often, and
what an epoch takes is a function of (seed, epoch).
"""

from collections.abc import Iterator, Sequence
from itertools import accumulate
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from weft.core.randomness import seed_for

Numbers: TypeAlias = NDArray[np.signedinteger[Any]]  # of pairs in the cache


class Member(NamedTuple):
    """One corpus of a mix: its place among the others, and the numbers of its pairs, from `first` to before `end`."""

    place: int
    first: int
    end: int

    @property
    def size(self) -> int:
        return self.end - self.first


def pairs_of_epoch(sizes: Sequence[int], times: Sequence[float], seed: int, epoch: int) -> Numbers:
    """The pairs that an epoch takes, one corpus after the other; a pair that is used n times is there n times.

    sizes: the pairs of each corpus. times: how often each is used in an epoch.
    """
    ends = list(accumulate(sizes))
    kind = np.dtype(np.int32 if ends[-1] < 2**31 - 2 else np.int64)  # 4 bytes a pair, mostly
    stretches = [
        stretch
        for place, (end, size, often) in enumerate(zip(ends, sizes, times, strict=True))
        for stretch in _stretches(Member(place, end - size, end), often, seed, epoch, kind)
    ]
    return stretches[0] if len(stretches) == 1 else np.concatenate([np.zeros(0, kind), *stretches])


def _stretches(member: Member, often: float, seed: int, epoch: int, kind: np.dtype[Any]) -> Iterator[Numbers]:
    """What an epoch takes of each round of one corpus: all, or a part of it, which depends on the order."""
    begin, end = (round(number * often * member.size) for number in (epoch, epoch + 1))
    for turn in range(begin // max(1, member.size), -(-end // max(1, member.size))):
        before = turn * member.size
        taken = slice(max(begin - before, 0), min(end - before, member.size))
        numbers = np.arange(member.first, member.end, dtype=kind)
        if taken != slice(0, member.size):
            np.random.default_rng(seed_for(seed, "mix", member.place, turn)).shuffle(numbers)
        yield numbers[taken]
