"""Small cached results as JSON files, among them the hashes of data files."""

import json
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from hashlib import blake2b
from pathlib import Path
from typing import Any
from uuid import uuid4

from weft.core.errors import UserError
from weft.data.text_files import hash_file

CLOCK_TICK = 2.0  # seconds: the coarsest time stamps of common file systems


@contextmanager
def cache_write_errors(folder: Path) -> Iterator[None]:
    """Convert OSError to UserError for a cache folder that cannot be written."""
    try:
        yield
    except OSError as error:
        raise UserError(
            f"{folder}: the cache cannot be written ({error}). Set data.cache to another folder."
        ) from error


def cached_count(path: Path, compute: Callable[[], int]) -> int:
    """Return the number in the file; compute and store it if there is none."""
    known = _read_json(path)
    if isinstance(known, int):
        return known
    count = compute()
    _try_write_json(path, count)
    return count


class FileHashCache:
    """Hashes files, and caches each hash as a JSON file in `folder`.

    A file whose device, inode, size, mtime and ctime have not changed is not hashed again: every write changes one of
    them, since ctime cannot be set. Two writes within one clock tick could look like one, so the hash of a file that
    was modified less than CLOCK_TICK seconds ago is not cached.
    """

    def __init__(self, folder: Path):
        self._folder = folder

    def hash(self, path: Path) -> bytes:
        """Return the hash of the stored bytes."""
        entry = self._folder / f"{blake2b(str(path.resolve()).encode(), digest_size=16).hexdigest()}.json"
        signature = _file_signature(path)
        match _read_json(entry):
            case {"signature": known, "hash": str(digits)} if known == signature:
                return bytes.fromhex(digits)
        digest = hash_file(path)
        is_unchanged = signature == _file_signature(path)
        if signature is not None and is_unchanged and time.time() - max(signature[-2:]) / 1e9 > CLOCK_TICK:
            _try_write_json(entry, {"file": str(path.resolve()), "signature": signature, "hash": digest.hex()})
        return digest


def _file_signature(path: Path) -> list[int] | None:
    try:
        status = path.stat()
    except OSError:
        return None
    return [status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns]


def _read_json(path: Path) -> Any:
    """Return the content of the file, or None if it is missing or damaged."""
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None


def _try_write_json(path: Path, value: object) -> None:
    """Write the file atomically; if it cannot be written, the value will be computed again."""
    with suppress(OSError):
        path.parent.mkdir(parents=True, exist_ok=True)
        unfinished = path.with_name(f"{path.name}.{uuid4().hex}")
        unfinished.write_text(json.dumps(value), encoding="utf-8")
        unfinished.replace(path)
