"""The words of a line as they are written, as server-sent events."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

from weft.serve.limits import Limits
from weft.serve.manner import Manner
from weft.serve.order import DroppedError
from weft.serve.refusal import RefusedError, contradiction, too_much
from weft.serve.served import Models, Served
from weft.serve.v1 import StreamLine, as_event, check_lines, ended, requested


class Writing:
    """A line that is being translated. It is accepted before the first event, so that a refusal has its status."""

    def __init__(self, asked: StreamLine, models: Models, limits: Limits):
        check_lines([asked.line], limits)
        request = requested(asked.line)
        if (asked.beam or 0) > limits.beam:
            raise too_much("beam", asked.beam or 0, limits.beam)
        if request.protect:
            raise contradiction("line: protect may cut a line, so its words are not told one by one")
        self._loop, self._events = asyncio.get_running_loop(), asyncio.Queue[str | None]()
        self._left = False
        self._served: Served = models.named(asked.model)
        self._order = self._served.put([request], Manner(beam=asked.beam, details=True), self._tell)

    async def events(self) -> AsyncIterator[str]:
        """prefix: what is written so far. Then translation, or error."""
        waiting = asyncio.ensure_future(self._served.finish(self._order))
        waiting.add_done_callback(lambda _: self._events.put_nowait(None))
        try:
            while (event := await self._events.get()) is not None:
                yield event
            yield ended((await waiting)[0])
        except RefusedError as error:
            yield as_event("error", {"error": str(error)})
        finally:
            self._left = True
            waiting.cancel()

    def _tell(self, pieces: list[str], text: str) -> None:
        """From the thread that translates; a line that nobody waits for is left there."""
        if self._left:
            raise DroppedError
        if pieces:
            event = as_event("prefix", {"pieces": pieces, "text": text})
            self._loop.call_soon_threadsafe(self._events.put_nowait, event)
