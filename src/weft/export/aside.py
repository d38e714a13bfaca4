"""Packages that a library would load, and needs for nothing that is done here."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.machinery import ModuleSpec
from threading import get_ident
from types import ModuleType


@dataclass(frozen=True)
class Missing:
    """A finder of modules that finds none: for one thread, it says that this package is not there."""

    name: str
    thread: int

    def find_spec(
        self, wanted: str, _path: Sequence[str] | None, _target: ModuleType | None = None, /
    ) -> ModuleSpec | None:
        if wanted == self.name and get_ident() == self.thread:
            raise ModuleNotFoundError(f"{self.name} is kept aside", name=self.name)
        return None


@contextmanager
def kept_aside(name: str) -> Iterator[None]:
    """As if this package were not installed, unless it is loaded already; for this thread alone.

    The list of finders is replaced, and not changed: another thread may be going through it.
    """
    missing = Missing(name, get_ident())
    sys.meta_path = [missing, *sys.meta_path]
    try:
        yield
    finally:
        sys.meta_path = [finder for finder in sys.meta_path if finder is not missing]
