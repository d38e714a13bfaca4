"""What is done with every request: it is counted, and its answer is kept out of places where it does not belong."""

from __future__ import annotations

import time
from collections.abc import Collection

from starlette.datastructures import MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from weft.serve.metrics import Metrics

HEADERS = {
    "X-Content-Type-Options": "nosniff",
    "Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-store",
}


class Middle:
    """paths: those that are counted by their names; what else is asked for is counted together."""

    def __init__(self, app: ASGIApp, metrics: Metrics, paths: Collection[str]):
        self._app, self._metrics, self._paths = app, metrics, frozenset(paths)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        begun, status = time.perf_counter(), 500

        async def sending(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                headers = MutableHeaders(scope=message)
                for name, value in HEADERS.items():
                    headers.setdefault(name, value)  # the page has its own policy
            await send(message)

        path = scope["path"] if scope["path"] in self._paths else "other"
        try:
            await self._app(scope, receive, sending)
        finally:
            self._metrics.requests.add(1, {"path": path, "code": str(status)})
            self._metrics.seconds.add(time.perf_counter() - begun, {"path": path})
