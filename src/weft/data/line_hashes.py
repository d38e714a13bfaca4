"""64-bit hashes of lines: find duplicates and leaked lines without keeping the text.

Among n distinct lines about n^2 / 2^65 pairs collide: with five million lines, one in a million corpora.
"""

from collections.abc import Iterable, Iterator
from hashlib import blake2b

import numpy as np
from numpy.typing import NDArray

HASH_BLOCK = 2**20  # hashes processed at once, which bounds memory

HashArray = NDArray[np.uint64]


def hash_lines(lines: Iterable[str]) -> HashArray:
    """Return hashes [n] that are the same in every process."""
    return np.frombuffer(b"".join(blake2b(line.encode(), digest_size=8).digest() for line in lines), np.uint64)


def hash_pairs(pairs: Iterable[tuple[str, str]]) -> HashArray:
    """Return a hash of both sides of each pair [n]; no line contains the line break that separates them."""
    return hash_lines(f"{source}\n{target}" for source, target in pairs)


def repeated_mask(hashes: HashArray) -> NDArray[np.bool_]:
    """Return True where an equal hash occurred before [n]."""
    is_repeated = np.ones(len(hashes), np.bool_)
    for indices in _hash_partitions(hashes):
        is_repeated[indices[np.unique(hashes[indices], return_index=True)[1]]] = False
    return is_repeated


def frequent_mask(hashes: HashArray, is_counted: NDArray[np.bool_], min_count: int) -> NDArray[np.bool_]:
    """Return True where at least `min_count` of the counted hashes are equal to this one, itself included [n]."""
    is_frequent = np.zeros(len(hashes), np.bool_)
    for partition in _hash_partitions(hashes):
        indices = partition[is_counted[partition]]
        _, numbers, counts = np.unique(hashes[indices], return_inverse=True, return_counts=True)
        is_frequent[indices[counts[numbers] >= min_count]] = True
    return is_frequent


def membership_mask(hashes: HashArray, few: HashArray) -> NDArray[np.bool_]:
    """Return which of many hashes are among a few [n]."""
    found = [np.isin(block, few) for _, block in _hash_blocks(hashes)]
    return np.concatenate([np.zeros(0, np.bool_), *found])


def known_mask(hashes: HashArray, known: HashArray) -> NDArray[np.bool_]:
    """Return which of a few hashes are among many known ones [n]; the few are sorted, the many searched in them."""
    few, numbers = np.unique(hashes, return_inverse=True)
    is_known = np.zeros(len(few), np.bool_)
    for _, block in _hash_blocks(known):
        indices = np.searchsorted(few, block).clip(max=len(few) - 1)
        is_known[indices[few[indices] == block]] = True
    return is_known[numbers]


def _hash_partitions(hashes: HashArray) -> Iterator[NDArray[np.int64]]:
    """Yield ascending indices in partitions of about a block, with equal hashes in the same partition."""
    count = -(-len(hashes) // HASH_BLOCK)
    for part in range(count):
        yield np.concatenate([start + np.flatnonzero(block % count == part) for start, block in _hash_blocks(hashes)])


def _hash_blocks(hashes: HashArray) -> Iterator[tuple[int, HashArray]]:
    return ((start, hashes[start : start + HASH_BLOCK]) for start in range(0, len(hashes), HASH_BLOCK))
