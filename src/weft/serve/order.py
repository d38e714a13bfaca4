"""The lines that one request asks for, and what becomes of them."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from threading import Lock
from typing import TypeAlias

from weft.control.request import Request
from weft.engine.translation import Translation
from weft.serve.manner import Manner

Tell: TypeAlias = Callable[[list[str], str], None]  # is told of the pieces so far, and of their text


class DroppedError(Exception):
    """Nobody waits for it any more."""


class Order:
    """Lines are put in from the event loop; translations come from any thread, in any order.

    tell: whom to tell of the words as they are written. dropped: nobody waits for it any more.
    """

    def __init__(self, requests: Sequence[Request], manner: Manner, tell: Tell | None = None):
        self.requests = tuple(requests)
        self.manner = manner
        self.tell = tell
        self.dropped = False
        self._found: dict[int, Translation] = {}
        self._lock = Lock()
        self._loop = asyncio.get_running_loop()
        self._future: asyncio.Future[list[Translation]] = self._loop.create_future()
        if not self.requests:
            self._future.set_result([])

    def fill(self, place: int, translation: Translation) -> None:
        """The translation of one line."""
        with self._lock:
            self._found[place] = translation
            complete = len(self._found) == len(self.requests)
        if complete:
            found = [self._found[number] for number in range(len(self.requests))]
            self._end(lambda: self._future.set_result(found))

    def fail(self, error: Exception) -> None:
        """One line cannot be translated, so none is needed."""
        self.dropped = True
        self._end(lambda: self._future.set_exception(error))

    async def wait(self, seconds: float) -> list[Translation]:
        """All translations, in the order of the lines; TimeoutError after so many seconds."""
        try:
            async with asyncio.timeout(seconds):
                return await self._future
        finally:
            self.dropped = True

    def _end(self, end: Callable[[], None]) -> None:
        self._loop.call_soon_threadsafe(lambda: None if self._future.done() else end())
