"""Batches of pairs of similar length: corpora are mixed, pairs shuffled, bucketed by length and padded. The order is
a function of (seed, epoch).

The pairs of each corpus in a mix are read in endless rounds, each round a permutation of all of them; with weight w,
an epoch takes the next w n of n pairs. So no pair is repeated before all others have been used as often.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import accumulate, islice
from random import Random
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import torch
from numpy.typing import NDArray

from weft.core.padded import Padded
from weft.core.seeds import derive_seed
from weft.core.special_tokens import BOS, EOS, PAD
from weft.data.token_cache import TokenCache
from weft.text.bpe_dropout import TokenNoise

PairIndices: TypeAlias = NDArray[np.signedinteger[Any]]  # of pairs in the cache
RowArray: TypeAlias = NDArray[Any]  # ids without special tokens [T], or image columns [T,height]
SideNoise: TypeAlias = tuple[TokenNoise | None, TokenNoise | None]  # of source and target
PairNoise: TypeAlias = Callable[[RowArray, RowArray, Random], tuple[RowArray, RowArray]]  # new source and target


def epoch_pairs(sizes: Sequence[int], weights: Sequence[float], seed: int, epoch: int) -> PairIndices:
    """Return the pairs of an epoch, one corpus after the other; a pair that is used n times occurs n times.

    sizes: number of pairs of each corpus. weights: how often each corpus is used in an epoch.
    """
    ends = list(accumulate(sizes))
    dtype = np.dtype(np.int32 if ends[-1] < 2**31 - 2 else np.int64)
    slices = []
    for corpus, (stop, size, weight) in enumerate(zip(ends, sizes, weights, strict=True)):
        begin, end = round(epoch * weight * size), round((epoch + 1) * weight * size)
        for round_number in range(begin // max(1, size), -(-end // max(1, size))):
            start = round_number * size
            taken = slice(max(begin - start, 0), min(end - start, size))
            order = np.arange(stop - size, stop, dtype=dtype)
            if taken != slice(0, size):
                np.random.default_rng(derive_seed(seed, "mix", corpus, round_number)).shuffle(order)
            slices.append(order[taken])
    return slices[0] if len(slices) == 1 else np.concatenate([np.zeros(0, dtype), *slices])


def pad_rows(rows: Sequence[RowArray]) -> Padded:
    """Pad rows to the length of the longest, after adding an end: EOS for ids, a blank column for images.

    So even an empty row has one position.
    """
    lengths = np.array([len(row) for row in rows])
    positions = np.arange(lengths.max() + 1)
    if rows[0].ndim == 1:
        data = np.full((len(rows), len(positions)), PAD, np.int64)
        data[positions < lengths[:, None]] = np.concatenate(rows)
        data[np.arange(len(rows)), lengths] = EOS
    else:
        data = np.zeros((len(rows), len(positions), rows[0].shape[1]), np.uint8)
        for image, row in zip(data, rows, strict=True):
            image[: len(row)] = row
    return Padded(torch.from_numpy(data), torch.from_numpy(positions <= lengths[:, None]))


class Batch(NamedTuple):
    """source, target: ids [B,S] and [B,T] that end in EOS, or a source of image columns [B,S,height].

    corpus_indices: the index of each pair in its corpus. weight: 0 for a placeholder on a rank without pairs.
    """

    source: Padded
    target: Padded
    corpus_indices: tuple[int, ...]
    weight: float = 1.0

    def to(self, device: torch.device | str) -> Batch:
        return self._replace(source=self.source.to(device), target=self.target.to(device))

    def decoder_input(self) -> Padded:
        """Return BOS and the target without its last token [B,T], with the target's mask."""
        shifted = self.target.data.roll(1, dims=1)
        shifted[:, 0] = BOS
        return self.target.with_data(shifted.masked_fill_(~self.target.mask, PAD))


class BatchLoader:
    """Shuffles pairs, takes them in pools, sorts each pool by length, cuts it into batches and shuffles these.

    max_tokens: limit of rows times longest row, with EOS, on each side; a longer pair is a batch of its own.
    max_length: longer sides are truncated to this many tokens, without EOS.
    noise: applied to the ids of each side in each epoch, after `pair_noise`, which changes both sides of a pair
    together; max_tokens refers to lengths without noise.
    excluded: pairs that no epoch contains.
    shard: (rank, world size); a rank gets every n-th pair of a batch. Batches do not depend on the world size.
    weights: how often each corpus of a mix is used in an epoch.
    """

    def __init__(
        self,
        cache: TokenCache,
        max_tokens: int,
        seed: int,
        *,
        noise: SideNoise | None = None,
        pair_noise: PairNoise | None = None,
        max_length: int = 2**31 - 1,
        excluded: PairIndices | None = None,
        shard: tuple[int, int] = (0, 1),
        weights: Sequence[float] = (1.0,),
        pool_size: int = 65_536,
    ):
        self._cache = cache
        self._max_tokens = max_tokens
        self._seed = seed
        self._noise = noise or (None, None)
        self._pair_noise = pair_noise
        self._max_length = max_length
        self._excluded = np.zeros(0, np.int64) if excluded is None else excluded
        self._rank, self._world_size = shard
        self._weights = weights
        self._pool_size = pool_size

    def epoch(self, epoch: int, start: int = 0) -> Iterator[Batch]:
        """Yield this rank's batches of an epoch from batch `start` on; earlier ones are not collated.

        A rank without pairs in a batch gets a placeholder of weight 0, so that all ranks take part.
        """
        for pairs in islice(self._plan(epoch), start, None):
            own = pairs[self._rank :: self._world_size]
            yield self.make_batch(own, epoch) if len(own) else self.make_batch(pairs[:1], epoch)._replace(weight=0.0)

    def make_batch(self, pairs: PairIndices, epoch: int = 0) -> Batch:
        """Return these pairs in this order, with the noise of an epoch."""
        indices = self._cache.corpus_indices[pairs].tolist()
        sides = self._rows(pairs, 0), self._rows(pairs, 1)
        sides = self._change_pairs(sides, indices, epoch)
        source, target = (pad_rows(self._change_rows(sides[side], indices, epoch, side)) for side in (0, 1))
        return Batch(source, target, tuple(indices))

    def targets(self, pairs: PairIndices) -> Padded:
        """Return the targets of `make_batch`, without noise and without reading the sources, which may be images."""
        return pad_rows(self._rows(pairs, 1))

    def _plan(self, epoch: int) -> Iterator[PairIndices]:
        """Yield the pairs of each batch."""
        rng = np.random.default_rng(derive_seed(self._seed, "order of pairs", epoch))
        order = epoch_pairs(self._cache.statistics.corpora, self._weights, self._seed, epoch)
        if len(self._excluded):
            is_used = np.ones(len(self._cache), np.bool_)
            is_used[self._excluded] = False
            order = order[is_used[order]]
        rng.shuffle(order)
        pools = -(-len(order) // self._pool_size)
        for pool in np.array_split(order, pools) if pools else ():
            batches = self._cut(pool)
            for index in rng.permutation(len(batches)):
                yield batches[index]

    def _cut(self, pool: PairIndices) -> list[PairIndices]:
        """Sort a pool by the longer side, then by the difference of both, and cut it into batches.

        This order needs less padding on both sides than sorting by one side first.
        """
        lengths = self._cache.lengths(pool).clip(max=self._max_length) + 1  # EOS
        by_length = np.lexsort((lengths[:, 0] - lengths[:, 1], lengths.max(1)))
        cuts, first = [], 0
        for row, longest in enumerate(lengths[by_length].max(1).tolist()):
            if row > first and (row - first + 1) * longest > self._max_tokens:
                cuts.append(row)
                first = row
        return np.split(pool[by_length], cuts)

    def _rows(self, pairs: PairIndices, side: int) -> list[RowArray]:
        return [self._cache.row(pair, side)[: self._max_length] for pair in pairs]

    def _change_pairs(
        self, sides: tuple[list[RowArray], list[RowArray]], indices: list[int], epoch: int
    ) -> tuple[list[RowArray], list[RowArray]]:
        """Apply the noise of pairs; a pair of which a side would exceed max_length stays as it is."""
        noise = self._pair_noise
        if noise is None:
            return sides
        sources, targets = list[RowArray](), list[RowArray]()
        for index, source, target in zip(indices, *sides, strict=True):
            rng = Random(derive_seed(self._seed, "pair noise", epoch, index))  # noqa: S311
            changed = noise(source, target, rng)
            if max(map(len, changed)) > self._max_length:
                changed = source, target
            sources.append(changed[0])
            targets.append(changed[1])
        return sources, targets

    def _change_rows(self, rows: list[RowArray], indices: list[int], epoch: int, side: int) -> list[RowArray]:
        """Apply the noise of a side. It makes rows longer; a row that would exceed max_length stays as it is."""
        noise = self._noise[side]
        if noise is None:
            return rows
        seeds = (derive_seed(self._seed, "noise", side, epoch, index) for index in indices)
        noisy = [np.array(noise(row.tolist(), Random(s)), np.int64) for row, s in zip(rows, seeds, strict=True)]  # noqa: S311
        return [new if len(new) <= self._max_length else old for new, old in zip(noisy, rows, strict=True)]
