"""Translated files that wait to be downloaded: in memory, for a limited time and of limited size in total."""

from __future__ import annotations

import secrets
import time
from collections import OrderedDict
from pathlib import PurePath
from typing import NamedTuple

from weft.serve.limits import ServerLimits


class StoredFile(NamedTuple):
    """A translated file. expires: on the monotonic clock."""

    name: str
    content: bytes
    media_type: str
    expires: float


class FileStore:
    """Translated files in memory, until they are too old or newer ones need their place."""

    def __init__(self, limits: ServerLimits):
        self._limits = limits
        self._files: OrderedDict[str, StoredFile] = OrderedDict()

    def add(self, name: str, content: bytes, media_type: str) -> str:
        """Keep a file; return a name that nobody can guess."""
        self._remove_old()
        key = secrets.token_urlsafe(24) + PurePath(name).suffix.lower()
        self._files[key] = StoredFile(name, content, media_type, time.monotonic() + self._limits.file_seconds)
        while len(self._files) > self._limits.files or self._size() > self._limits.files_bytes:
            self._files.popitem(last=False)
        return key

    def get(self, key: str) -> StoredFile | None:
        self._remove_old()
        return self._files.get(key)

    def _size(self) -> int:
        return sum(len(file.content) for file in self._files.values())

    def _remove_old(self) -> None:
        now = time.monotonic()
        while self._files and next(iter(self._files.values())).expires < now:
            self._files.popitem(last=False)
