"""Middleware around every request: Prometheus metrics, security headers, limits on the request body."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Collection

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, disable_created_metrics
from starlette.datastructures import MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from weft.serve.http_errors import ApiError
from weft.serve.limits import ServerLimits

LATENCY_BUCKETS = (0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0)
BATCH_SIZE_BUCKETS = (1, 2, 4, 8, 16, 32, 64, 128)
DISCARD_FACTOR = 20  # of a body that is too large, this many times the limit is read, so that the client gets the error
SECURITY_HEADERS = {
    "X-Content-Type-Options": "nosniff",
    "Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'",
    "Referrer-Policy": "no-referrer",
}


class ServerMetrics:
    """The metrics of one server, in a registry of its own."""

    def __init__(self) -> None:
        disable_created_metrics()  # a second series for each counter and histogram
        self.registry = registry = CollectorRegistry()
        self.requests = Counter(
            "weft_requests", "Requests answered, by path and status code.", ("path", "code"), registry=registry
        )
        self.seconds = Histogram(
            "weft_request_seconds",
            "Seconds from a request to the end of its response.",
            ("path",),
            buckets=LATENCY_BUCKETS,
            registry=registry,
        )
        self.characters = Counter("weft_characters", "Characters to translate.", ("model",), registry=registry)
        self.batches = Histogram(
            "weft_batch_lines", "Lines per batch.", ("model",), buckets=BATCH_SIZE_BUCKETS, registry=registry
        )
        self.reloads = Counter("weft_reloads", "Model reloads, by outcome.", ("model", "outcome"), registry=registry)
        self.queue = Gauge("weft_queue_lines", "Lines waiting for a model.", ("model",), registry=registry)


class RequestMiddleware:
    """Count requests and add security headers. Paths not in `paths` share one label."""

    def __init__(self, app: ASGIApp, metrics: ServerMetrics, paths: Collection[str]):
        self._app, self._metrics, self._paths = app, metrics, frozenset(paths)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        started, status = time.perf_counter(), 500

        async def send_with_headers(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                headers = MutableHeaders(scope=message)
                for name, value in SECURITY_HEADERS.items():
                    headers.setdefault(name, value)  # pages have a policy of their own
                headers.setdefault("Cache-Control", "no-cache" if "etag" in headers else "no-store")
            await send(message)

        path = scope["path"] if scope["path"] in self._paths else "other"
        try:
            await self._app(scope, receive, send_with_headers)
        finally:
            self._metrics.requests.labels(path, str(status)).inc()
            self._metrics.seconds.labels(path).observe(time.perf_counter() - started)


class BodyLimitMiddleware:
    """Raise ApiError from `receive` if the request body is too large or arrives too slowly."""

    def __init__(self, app: ASGIApp, limits: ServerLimits):
        self._app, self._limits = app, limits

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        deadline, size, is_complete = asyncio.get_running_loop().time() + self._limits.timeout, 0, False

        async def receive_in_limits() -> Message:
            nonlocal size, is_complete
            if is_complete:
                return await receive()  # waits for the client to disconnect
            try:
                async with asyncio.timeout_at(deadline):
                    message = await receive()
                    size += len(message.get("body", b""))
                    while self._limits.body_bytes < size <= DISCARD_FACTOR * self._limits.body_bytes:
                        if not message.get("more_body", False):
                            break
                        message = await receive()
                        size += len(message.get("body", b""))
            except TimeoutError:
                raise ApiError(408, f"The request did not arrive within {self._limits.timeout} seconds") from None
            if size > self._limits.body_bytes:
                raise ApiError(413, f"The request has more than {self._limits.body_bytes} bytes, which is the limit")
            is_complete = not message.get("more_body", False)
            return message

        await self._app(scope, receive_in_limits, send)
