"""64-bit hashes of lines: they find what came before without keeping the lines.

Of n different lines, n²/2⁶⁵ pairs have one hash by chance: among five million, about one in a million times.
"""

from collections.abc import Iterable, Iterator
from hashlib import blake2b

import numpy as np
from numpy.typing import NDArray

BLOCK = 2**20  # hashes looked at in one go: what bounds the memory

Hashes = NDArray[np.uint64]


def hash_lines(lines: Iterable[str]) -> Hashes:
    """[n], the same in every process."""
    return np.frombuffer(b"".join(blake2b(line.encode(), digest_size=8).digest() for line in lines), np.uint64)


def hash_pairs(pairs: Iterable[tuple[str, str]]) -> Hashes:
    """[n], of both sides together; no line contains the line break that stands between them."""
    return hash_lines(f"{source}\n{target}" for source, target in pairs)


def came_before(hashes: Hashes) -> NDArray[np.bool_]:
    """[n], True where an equal hash stands further left."""
    again = np.ones(len(hashes), np.bool_)
    for places in _parts(hashes):
        again[places[np.unique(hashes[places], return_index=True)[1]]] = False
    return again


def are_frequent(hashes: Hashes, among: NDArray[np.bool_], least: int) -> NDArray[np.bool_]:
    """[n], True where at least so many hashes are equal to this one, itself included; only those of `among` count."""
    frequent = np.zeros(len(hashes), np.bool_)
    for everywhere in _parts(hashes):
        places = everywhere[among[everywhere]]
        _, numbers, counts = np.unique(hashes[places], return_inverse=True, return_counts=True)
        frequent[places[counts[numbers] >= least]] = True
    return frequent


def are_in(hashes: Hashes, few: Hashes) -> NDArray[np.bool_]:
    """[n], which of many hashes are among a few."""
    found = [np.isin(block, few) for _, block in _blocks(hashes)]
    return np.concatenate([np.zeros(0, np.bool_), *found])


def are_known(hashes: Hashes, known: Hashes) -> NDArray[np.bool_]:
    """[n], which of a few hashes are among many `known` ones: these are looked up in the few, which are sorted once."""
    few, numbers = np.unique(hashes, return_inverse=True)
    found = np.zeros(len(few), np.bool_)
    for _, block in _blocks(known):
        places = np.searchsorted(few, block).clip(max=len(few) - 1)
        found[places[few[places] == block]] = True
    return found[numbers]


def count_known(hashes: Hashes, known: Hashes) -> int:
    """How many of a few hashes are among many `known` ones."""
    return int(are_known(hashes, known).sum())


def _parts(hashes: Hashes) -> Iterator[NDArray[np.int64]]:
    """The places of hashes, ascending, in parts of about a block, equal hashes in the same part."""
    parts = -(-len(hashes) // BLOCK)
    for part in range(parts):
        yield np.concatenate([start + np.flatnonzero(block % parts == part) for start, block in _blocks(hashes)])


def _blocks(hashes: Hashes) -> Iterator[tuple[int, Hashes]]:
    """The place where each block begins, and the block."""
    return ((start, hashes[start : start + BLOCK]) for start in range(0, len(hashes), BLOCK))
