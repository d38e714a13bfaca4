"""Batches of pairs of about the same length, in an order that is a function of (seed, epoch)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice
from random import Random
from typing import NamedTuple, TypeAlias

import numpy as np
import torch

from weft.core.marks import BEGIN, PAD
from weft.core.padded import Padded
from weft.core.randomness import seed_for
from weft.data.cache import TokenCache
from weft.data.mixing import Numbers, pairs_of_epoch
from weft.data.padding import Row, pad
from weft.text.dropout import Noise

Noises: TypeAlias = tuple[Noise | None, Noise | None]  # of source and target
UNLIMITED = 2**31 - 1


class Batch(NamedTuple):
    """source and target: ids [B,S] and [B,T] that end in END; indices: the number of each pair in its file, from 0.

    A source of pictures is columns of grey levels [B,S,height]. weight: 0 for one that only stands in, on a rank for
    which a batch has no pair.
    """

    source: Padded
    target: Padded
    indices: tuple[int, ...]
    weight: float = 1.0

    def to(self, device: torch.device | str) -> Batch:
        return self._replace(source=self.source.to(device), target=self.target.to(device))

    def decoder_input(self) -> Padded:
        """BEGIN and the target without its last: [B,T], under the target's mask."""
        shifted = self.target.data.roll(1, dims=1)
        shifted[:, 0] = BEGIN
        return self.target.with_data(shifted.masked_fill_(~self.target.mask, PAD))


class Batches:
    """Pairs are shuffled, taken in pools, sorted by length within a pool and cut; then the pool's batches are shuffled.

    budget: rows times the longest row, END counted, is at most this on each side; a pair that is longer comes alone.
    longest: tokens of a side at most, END not counted; what is over is cut off.
    noise: what is done to the ids of each side, drawn anew in each epoch; the budget counts lengths without it.
    left_out: the pairs, by their numbers in the cache, that are in no epoch.
    share: (r, n) for the rank r of n, which takes every n-th pair of a batch. The batches are the same for any n.
    times: how often each corpus of a mix is used in an epoch (see mixing.py).
    """

    def __init__(
        self,
        cache: TokenCache,
        budget: int,
        seed: int,
        *,
        noise: Noises | None = None,
        longest: int = UNLIMITED,
        left_out: Numbers | None = None,
        share: tuple[int, int] = (0, 1),
        times: Sequence[float] = (1.0,),
        pool: int = 65_536,
    ):
        self._cache = cache
        self._budget = budget
        self._seed = seed
        self._noise = noise or (None, None)
        self._longest = longest
        self._left_out = np.zeros(0, np.int64) if left_out is None else left_out
        self._rank, self._ranks = share
        self._times = times
        self._pool = pool

    def epoch(self, number: int, start: int = 0) -> Iterator[Batch]:
        """The batches of this epoch from the one numbered `start`; those before it are not collated."""
        return (self._share(numbers, number) for numbers in islice(self._plan(number), start, None))

    def take(self, numbers: Numbers) -> Batch:
        """These pairs of the cache, in this order, as the first epoch has them."""
        return self._collate(numbers, 0)

    def targets(self, numbers: Numbers) -> Padded:
        """The targets alone of what `take` gives: the sources may be large pictures."""
        rows = [self._cache.pair(number)[1][: self._longest] for number in numbers]
        return pad(self._noised(rows, tuple(self._cache.indices[numbers].tolist()), 0, 1))

    def _plan(self, epoch: int) -> Iterator[Numbers]:
        """The pairs of each batch."""
        draws = np.random.default_rng(seed_for(self._seed, "order of pairs", epoch))
        order = self._said(pairs_of_epoch(self._cache.sizes, self._times, self._seed, epoch))
        draws.shuffle(order)
        pools = -(-len(order) // self._pool)
        for pool in np.array_split(order, pools) if pools else ():
            batches = self._cut(pool)
            for place in draws.permutation(len(batches)):
                yield batches[place]

    def _said(self, order: Numbers) -> Numbers:
        """Without what is left out."""
        if not len(self._left_out):
            return order
        said = np.ones(len(self._cache), np.bool_)
        said[self._left_out] = False
        return order[said[order]]

    def _cut(self, pool: Numbers) -> list[Numbers]:
        """The pool sorted by the longer side, then by how much longer it is (less padding on both sides than to sort
        by one side first); equals stay in their random order. Cut wherever a further row would break the budget.
        """
        lengths = self._cache.lengths(pool).clip(max=self._longest) + 1  # END
        by_length = np.lexsort((lengths[:, 0] - lengths[:, 1], lengths.max(1)))
        cuts, first = [], 0
        for row, longest in enumerate(lengths[by_length].max(1).tolist()):
            if row > first and (row - first + 1) * longest > self._budget:
                cuts.append(row)
                first = row
        return np.split(pool[by_length], cuts)

    def _share(self, numbers: Numbers, epoch: int) -> Batch:
        """This rank's pairs of a batch; where it has none, one that does not count, so that all ranks compute."""
        own = numbers[self._rank :: self._ranks]
        return self._collate(own, epoch) if len(own) else self._collate(numbers[:1], epoch)._replace(weight=0.0)

    def _collate(self, numbers: Numbers, epoch: int) -> Batch:
        indices = tuple(self._cache.indices[numbers].tolist())
        pairs = [self._cache.pair(number) for number in numbers]
        source = self._noised([source[: self._longest] for source, _ in pairs], indices, epoch, 0)
        target = self._noised([target[: self._longest] for _, target in pairs], indices, epoch, 1)
        return Batch(pad(source), pad(target), indices)

    def _noised(self, rows: list[Row], indices: tuple[int, ...], epoch: int, side: int) -> list[Row]:
        noise = self._noise[side]
        if noise is None:
            return rows
        seeds = (seed_for(self._seed, "noise", side, epoch, index) for index in indices)
        noised = (noise(row.tolist(), Random(seed)) for row, seed in zip(rows, seeds, strict=True))  # noqa: S311
        return [self._short_enough(np.array(new, np.int64), old) for new, old in zip(noised, rows, strict=True)]

    def _short_enough(self, noised: Row, row: Row) -> Row:
        """Noise spells in more pieces; a row that would become too long stays as it was."""
        return noised if len(noised) <= self._longest else row
