"""Limits on TCP connections: how many are open, and how long one may be idle or leave a response unread.

They act below the HTTP server and need nothing of its internals. The listening socket records every connection that it
accepts, an ASGI wrapper marks those with a request in progress (by the client's address), and `close_expired` shuts
down the others in time. The server then sees the end of the stream, as if the client had closed the connection.
Slowly sent request heads count as idle time, so a client cannot hold a connection by sending a byte now and then.

An event loop that accepts connections without calling `accept` (Windows' proactor) bypasses these limits.
"""

from __future__ import annotations

import asyncio
import socket
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Any, TypeAlias

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from weft.serve.limits import ServerLimits

CHECK_SECONDS = 0.25

Client: TypeAlias = tuple[str, int]  # host and port, as in an ASGI scope


class Connection(socket.socket):
    """An accepted connection that reports when it is closed."""

    on_close: Callable[[], object] | None = None

    def close(self) -> None:
        if self.on_close is not None:
            self.on_close()
        super().close()

    def shut_down(self, how: int) -> None:
        with suppress(OSError):  # the client has closed it already
            self.shutdown(how)


class LimitedListener(socket.socket):
    """A listening socket with at most `limits.connections` open connections.

    Where there would be more, the one that has been idle longest is closed; the new one itself if all others are busy.
    """

    def __init__(self, family: int, limits: ServerLimits):
        # With the protocol stated, asyncio sets TCP_NODELAY; without it, each response waits 40 ms for a delayed ACK.
        super().__init__(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
        self._limits = limits
        self.open: dict[Client, Connection] = {}
        self.idle: dict[Client, float] = {}  # since when, the longest first
        self.closing: dict[Client, float] = {}  # since when responses may still be read, but nothing is received

    def accept(self) -> tuple[socket.socket, Any]:
        accepted, address = super().accept()
        connection = Connection(self.family, self.type, self.proto, fileno=accepted.detach())
        client = (address[0], address[1])
        connection.on_close = lambda: self.open.get(client) is connection and self._forget(client)
        self.open[client] = connection
        self.idle[client] = time.monotonic()
        while len(self.open) > self._limits.connections and self.idle:
            self._abort(next(iter(self.idle)))
        return connection, address

    def track_requests(self, app: ASGIApp) -> ASGIApp:
        """Wrap an application so that its connections are not idle while it runs, and each message is sent in time."""

        async def tracked(scope: Scope, receive: Receive, send: Send) -> None:
            if scope["type"] != "http" or not scope.get("client"):
                await app(scope, receive, send)
                return
            client, loop = (scope["client"][0], scope["client"][1]), asyncio.get_running_loop()

            async def send_in_time(message: Message) -> None:
                timer = loop.call_later(self._limits.timeout, self._abort, client)
                try:
                    await send(message)
                finally:
                    timer.cancel()

            self.idle.pop(client, None)
            try:
                await app(scope, receive, send_in_time)
            finally:
                if client in self.open and client not in self.closing:
                    self.idle[client] = time.monotonic()

        return tracked

    async def close_expired(self) -> None:
        """Close connections that are idle for too long, for ever.

        First for reading alone, which lets the server send the rest of a response; then, after the timeout, entirely.
        """
        while True:
            await asyncio.sleep(CHECK_SECONDS)
            now = time.monotonic()
            for client, since in list(self.idle.items()):
                if now < since + self._limits.idle_timeout:
                    break
                del self.idle[client]
                self.closing[client] = now
                self.open[client].shut_down(socket.SHUT_RD)
            for client, since in list(self.closing.items()):
                if now < since + self._limits.timeout:
                    break
                self._abort(client)

    def _abort(self, client: Client) -> None:
        connection = self._forget(client)
        if connection is not None:
            connection.shut_down(socket.SHUT_RDWR)

    def _forget(self, client: Client) -> Connection | None:
        self.idle.pop(client, None)
        self.closing.pop(client, None)
        return self.open.pop(client, None)
