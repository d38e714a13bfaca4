"""Lazy evaluation: values computed at first use, and iterables that are read again instead of kept in memory."""

from collections.abc import Callable, Iterable, Iterator
from threading import Lock
from typing import Generic, TypeVar

Value = TypeVar("Value")
Item = TypeVar("Item")


class Lazy(Generic[Value]):
    """Calls `make` once, however many threads ask for the value; if it fails, the next call tries again.

    With functools.cache, threads that ask at the same time would each call it.
    """

    def __init__(self, make: Callable[[], Value]):
        self._make, self._lock = make, Lock()
        self._made: list[Value] = []

    def __call__(self) -> Value:
        with self._lock:
            if not self._made:
                self._made.append(self._make())
            return self._made[0]


class Reiterable(Generic[Item]):
    """Calls `read` for each iteration."""

    def __init__(self, read: Callable[[], Iterator[Item]]):
        self._read = read

    def __iter__(self) -> Iterator[Item]:
        return self._read()


def ensure_reiterable(items: Iterable[Item]) -> Iterable[Item]:
    """Return the items, as a list if they could be read only once."""
    return list(items) if iter(items) is items else items
