"""What is made when it is first asked for."""

from __future__ import annotations

from collections.abc import Callable
from threading import Lock
from typing import Generic, TypeVar

Value = TypeVar("Value")


class Once(Generic[Value]):
    """make: makes the value, once, however many threads ask for it at the same time. If it fails, who asks next tries.

    (functools.cache lets each of them make one.)
    """

    def __init__(self, make: Callable[[], Value]):
        self._make, self._lock = make, Lock()
        self._made: list[Value] = []

    def __call__(self) -> Value:
        with self._lock:
            if not self._made:
                self._made.append(self._make())
            return self._made[0]
