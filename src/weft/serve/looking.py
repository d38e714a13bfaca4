"""Looking inside a model that is served: one look at a time, beside its translations, and few that wait."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TYPE_CHECKING, TypeAlias

from weft.core.errors import UserError
from weft.serve.limits import Limits
from weft.serve.manner import Manner
from weft.serve.refusal import RefusedError, contradiction

if TYPE_CHECKING:
    from weft.engine.translator import Translator

Look: TypeAlias = "Callable[[Translator], str]"  # what is seen, as JSON


class Looking:
    """ready: the engine for a manner. A look that nobody waits for is left out, unless it has begun."""

    def __init__(self, ready: Callable[[Manner], Translator], limits: Limits):
        self._ready, self._limits = ready, limits
        self._pool = ThreadPoolExecutor(1, "weft-look")
        self._waiting = 0

    async def __call__(self, look: Look, manner: Manner) -> str:
        """A RefusedError if too many wait, if it takes too long, or if this model has nothing to be seen there."""
        if self._waiting >= self._limits.looks:
            raise RefusedError(429, "Too many requests: others look inside this model. Try again in a moment.")
        self._waiting += 1
        loop = asyncio.get_running_loop()
        begun = self._pool.submit(lambda: look(self._ready(manner)))
        begun.add_done_callback(lambda _: loop.call_soon_threadsafe(self._done))
        return await self._seen(begun)

    async def _seen(self, begun: Future[str]) -> str:
        seconds = self._limits.seconds
        try:
            async with asyncio.timeout(seconds):
                return await asyncio.wrap_future(begun)
        except TimeoutError:
            raise RefusedError(504, f"It took longer than {seconds} seconds: take a shorter line.") from None
        except UserError as error:
            raise contradiction(str(error).removeprefix("line 1: ")) from None

    def _done(self) -> None:
        self._waiting -= 1

    def close(self) -> None:
        """Finish what was begun."""
        self._pool.shutdown()
