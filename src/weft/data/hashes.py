"""64-bit hashes of lines: they find what came before without keeping the lines.

Of n different lines, n²/2⁶⁵ pairs have one hash by chance: among five million, about one in a million times.
"""

from collections.abc import Iterable
from hashlib import blake2b

import numpy as np
from numpy.typing import NDArray

ODD = np.uint64(0x9E3779B97F4A7C15)  # times an odd number no two hashes become one


def hash_lines(lines: Iterable[str]) -> NDArray[np.uint64]:
    """[n], the same in every process."""
    return np.frombuffer(b"".join(blake2b(line.encode(), digest_size=8).digest() for line in lines), np.uint64)


def hash_pairs(sources: NDArray[np.uint64], targets: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """[n], from the hashes of both sides."""
    return sources * ODD + targets


def came_before(hashes: NDArray[np.uint64]) -> NDArray[np.bool_]:
    """[n], True where an equal hash stands further left."""
    again = np.ones(len(hashes), np.bool_)
    again[np.unique(hashes, return_index=True)[1]] = False
    return again
