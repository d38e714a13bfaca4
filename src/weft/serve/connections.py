"""Connections that do no harm: one that says nothing, or says it or listens very slowly, is closed, and there are only
so many.
"""

from __future__ import annotations

import asyncio

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

from weft.serve.limits import Limits


def protocol_of(limits: Limits) -> type[H11Protocol]:
    """HTTP with these limits. Where there are too many connections, that which has been idle longest has to go: the new
    one itself, if all others are at work.
    """
    idle: dict[Bounded, None] = {}  # in the order in which they began to be so

    class Bounded(H11Protocol):
        """A request has to begin, and its head to end, within some seconds of the beginning or of the last answer, and
        an answer has to be taken in time.
        """

        due: float | None = None  # when it is closed, if no request has come
        untaken: asyncio.TimerHandle | None = None  # will give up an answer that the other end does not read

        def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as uvicorn's own
            super().connection_made(transport)
            transport.set_write_buffer_limits(0)  # to be told of every byte that is not taken
            self.expect()
            while len(self.connections) > limits.connections and idle:
                next(iter(idle)).give_up()

        def data_received(self, data: bytes) -> None:
            super().data_received(data)
            if self.transport.is_closing() or self.conn.their_state is not h11.IDLE:
                self.forget()
            else:
                self.expect()

        def on_response_complete(self) -> None:
            super().on_response_complete()
            if not self.transport.is_closing() and self.conn.their_state is h11.IDLE:
                self.expect()

        def pause_writing(self) -> None:
            super().pause_writing()
            self.untaken = self.loop.call_later(limits.seconds, self.give_up)

        def resume_writing(self) -> None:
            super().resume_writing()
            self.all_taken()

        def connection_lost(self, exc: Exception | None) -> None:
            self.forget()
            self.all_taken()
            super().connection_lost(exc)
            self._unset_keepalive_if_required()

        def expect(self) -> None:
            """Wait for a request, but not for ever."""
            idle.setdefault(self)
            self.due = self.due or self.loop.time() + limits.idle
            self._unset_keepalive_if_required()
            self.timeout_keep_alive_task = self.loop.call_at(self.due, self.timeout_keep_alive_handler)

        def forget(self) -> None:
            idle.pop(self, None)
            self.due = None

        def all_taken(self) -> None:
            if self.untaken is not None:
                self.untaken.cancel()

        def give_up(self) -> None:
            """Close it at once, whatever was still to be said, and count it no more."""
            self.forget()
            self.connections.discard(self)
            self.transport.abort()

    return Bounded
