"""Hashes of files, found out once: a file that was not touched since is not read again.

What is asked of a file is its device, its number there (inode), its size, and when its content and its entry were last
changed (mtime, ctime; in nanoseconds). Who writes into a file changes at least one of them, even if he sets the first
time back, since the second cannot be set. Two writes within one tick of the clock could look like one, so the hash of
a file that was changed a moment ago is not kept. What is left is a disk or a clock that does not tell the truth: who
has one deletes the folder `files` of the cache.
"""

import time
from hashlib import blake2b
from pathlib import Path

from weft.data.keeping import keep_if_possible, read_kept
from weft.data.lines import hash_file

MOMENT = 2.0  # seconds: the coarsest tick of any usual disk


class KnownFiles:
    """Keeps a small file of JSON for each file whose hash was asked for, in `folder`."""

    def __init__(self, folder: Path):
        self._folder = folder

    def hash(self, path: Path) -> bytes:
        """The hash of the bytes as they are stored."""
        place = self._folder / f"{blake2b(str(path.resolve()).encode(), digest_size=16).hexdigest()}.json"
        seen = _seen(path)
        match read_kept(place):
            case {"seen": known, "hash": str(written)} if known == seen:
                return bytes.fromhex(written)
        digest = hash_file(path)
        if seen == _seen(path) and seen is not None and time.time() - max(seen[-2:]) / 1e9 > MOMENT:
            keep_if_possible(place, {"file": str(path.resolve()), "seen": seen, "hash": digest.hex()})
        return digest


def _seen(path: Path) -> list[int] | None:
    """What changes with a file; None if it is not there."""
    try:
        entry = path.stat()
    except OSError:
        return None
    return [entry.st_dev, entry.st_ino, entry.st_size, entry.st_mtime_ns, entry.st_ctime_ns]
