"""Hashes of lines and files: find duplicates, leaked lines and changed files without keeping the text.

Hashes of lines have 64 bits. Among n distinct lines about n^2 / 2^65 pairs collide: with five million lines, one in a
million corpora.
"""

import json
import time
from collections.abc import Iterable, Iterator
from contextlib import suppress
from hashlib import blake2b, file_digest
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from weft.core.errors import UserError
from weft.core.files import write_atomically
from weft.data.text_files import require_file

HASH_BLOCK = 2**20  # hashes processed at once, which bounds memory
CLOCK_TICK = 2.0  # seconds: the coarsest time stamps of common file systems

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
    is_member = np.zeros(len(hashes), np.bool_)
    if not len(few):
        return is_member
    ordered = np.unique(few)
    for here, block in blocks(hashes):
        indices = np.searchsorted(ordered, block).clip(max=len(ordered) - 1)
        is_member[here] = ordered[indices] == block
    return is_member


def known_mask(hashes: HashArray, known: HashArray) -> NDArray[np.bool_]:
    """Return which of a few hashes are among many known ones [n]."""
    return np.isin(hashes, known[membership_mask(known, hashes)])


def blocks(rows: NDArray[Any]) -> Iterator[tuple[slice, NDArray[Any]]]:
    """Yield up to HASH_BLOCK rows at a time, with their position."""
    for start in range(0, len(rows), HASH_BLOCK):
        here = slice(start, start + HASH_BLOCK)
        yield here, rows[here]


def _hash_partitions(hashes: HashArray) -> Iterator[NDArray[np.int64]]:
    """Yield ascending indices in partitions of about a block, with equal hashes in the same partition."""
    count = -(-len(hashes) // HASH_BLOCK)
    for part in range(count):
        yield np.concatenate([here.start + np.flatnonzero(block % count == part) for here, block in blocks(hashes)])


def hash_file(path: Path) -> bytes:
    """Return a hash of the stored bytes."""
    require_file(path)
    try:
        with path.open("rb") as file:
            return file_digest(file, "blake2b").digest()
    except OSError as error:
        raise UserError(f"{path}: cannot be read ({error.strerror})") from error


def cached_file_hash(folder: Path, path: Path) -> bytes:
    """Return the hash of a file, which is cached as a JSON file in `folder`.

    A file whose device, inode, size, mtime and ctime have not changed is not hashed again: every write changes one of
    them, since ctime cannot be set. Two writes within one clock tick could look like one, so the hash of a file that
    was modified less than CLOCK_TICK seconds ago is not cached.
    """
    entry = folder / f"{blake2b(str(path.resolve()).encode(), digest_size=16).hexdigest()}.json"
    signature = _file_signature(path)
    with suppress(OSError, ValueError):  # without an entry, or with a damaged one, the file is hashed
        match json.loads(entry.read_bytes()):
            case {"signature": known, "hash": str(digits)} if known == signature:
                return bytes.fromhex(digits)
    digest = hash_file(path)
    is_unchanged = signature == _file_signature(path)
    if signature is not None and is_unchanged and time.time() - max(signature[-2:]) / 1e9 > CLOCK_TICK:
        content = {"file": str(path.resolve()), "signature": signature, "hash": digest.hex()}
        with suppress(OSError, UserError):  # where nothing can be written, the file is hashed again next time
            folder.mkdir(parents=True, exist_ok=True)
            write_atomically(entry, json.dumps(content).encode())
    return digest


def _file_signature(path: Path) -> list[int] | None:
    try:
        status = path.stat()
    except OSError:
        return None
    return [status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns]
