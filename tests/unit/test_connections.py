"""Server connections: limits on their number and on idle time."""

import asyncio
import socket
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import ExitStack, asynccontextmanager, suppress

import uvicorn
from starlette.applications import Starlette
from starlette.responses import Response, StreamingResponse
from starlette.routing import Mount
from starlette.types import ASGIApp

from weft.serve.connections import LimitedListener
from weft.serve.limits import ServerLimits

TIMEOUT = 60.0  # seconds, far more than needed
LARGE_BODY = bytes(2**25)  # more than the socket buffers hold
REQUEST = b"GET / HTTP/1.1\r\nHost: a\r\n\r\n"


@asynccontextmanager
async def running_server(app: ASGIApp, limits: ServerLimits) -> AsyncIterator[tuple[LimitedListener, int]]:
    """Serve the application; yield the listener and its port."""
    with LimitedListener(socket.AF_INET, limits) as listener:
        listener.bind(("127.0.0.1", 0))
        config = uvicorn.Config(
            listener.track_requests(app),
            http="h11",
            ws="none",
            lifespan="off",
            log_config=None,
            timeout_keep_alive=limits.idle_timeout,
        )
        server = uvicorn.Server(config)
        tasks = [asyncio.create_task(server.serve([listener])), asyncio.create_task(listener.close_expired())]
        await wait_until(lambda: server.started)
        try:
            yield listener, listener.getsockname()[1]
        finally:
            server.should_exit = server.force_exit = True
            await tasks[0]
            tasks[1].cancel()


async def wait_until(condition: Callable[[], bool]) -> None:
    async with asyncio.timeout(TIMEOUT):
        while not condition():
            await asyncio.sleep(0.01)


async def connect(port: int, data: bytes = b"") -> socket.socket:
    """Open a connection and send data, without reading."""
    connection, loop = socket.socket(), asyncio.get_running_loop()
    connection.setblocking(False)
    await loop.sock_connect(connection, ("127.0.0.1", port))
    await loop.sock_sendall(connection, data)
    return connection


def is_closed(connection: socket.socket) -> bool:
    """Return whether the peer, which never sends data, has closed the connection."""
    try:
        return connection.recv(1, socket.MSG_PEEK) == b""
    except BlockingIOError:
        return False


async def read(connection: socket.socket, count: int) -> int:
    """Read until `count` bytes or the end; return the number of bytes read."""
    total = 0
    while total < count and (chunk := await asyncio.get_running_loop().sock_recv(connection, 2**20)):
        total += len(chunk)
    return total


def test_burst_of_connections_stays_within_the_limit() -> None:
    async def run() -> None:
        async with running_server(Response(b"here"), ServerLimits(connections=10, idle_timeout=10_000)) as (
            listener,
            port,
        ):
            with ExitStack() as stack:
                connections = [
                    stack.enter_context(connection)
                    for connection in await asyncio.gather(*(connect(port) for _ in range(200)))
                ]
                await wait_until(lambda: sum(is_closed(connection) for connection in connections) == 190)
                assert len(listener.open) == 10
                with await connect(port, REQUEST) as connection:
                    assert await read(connection, 1) > 0

    asyncio.run(run())


def test_new_connection_is_refused_if_all_are_busy() -> None:
    async def run() -> None:
        release, started = asyncio.Event(), list[object]()

        async def slow(scope: object, receive: object, send: Callable[[object], Awaitable[None]]) -> None:
            started.append(scope)
            await release.wait()
            await Response(b"here")(scope, receive, send)  # type: ignore[arg-type]

        async with running_server(slow, ServerLimits(connections=3)) as (_, port):  # type: ignore[arg-type]
            with ExitStack() as stack:
                busy = [stack.enter_context(await connect(port, REQUEST)) for _ in range(3)]
                await wait_until(lambda: len(started) == 3)
                extra = stack.enter_context(await connect(port))
                await wait_until(lambda: is_closed(extra))
                release.set()
                assert [await read(connection, 1) > 0 for connection in busy] == [True] * 3

    asyncio.run(run())


def test_unread_response_is_dropped() -> None:
    async def endless() -> AsyncIterator[bytes]:
        while True:
            yield LARGE_BODY
            await asyncio.sleep(0)

    async def run(response: ASGIApp) -> None:
        app = Starlette(routes=[Mount("/short", Response(b"here")), Mount("/", response)])
        async with running_server(app, ServerLimits(timeout=1, idle_timeout=1)) as (listener, port):
            with ExitStack() as stack:
                for _ in range(3):
                    assert await read(stack.enter_context(await connect(port, REQUEST)), 1) > 0
                with await connect(port, REQUEST.replace(b"/", b"/short", 1)) as other:
                    assert await read(other, 1) > 0  # other requests are still answered
                await wait_until(lambda: not listener.open)

    asyncio.run(run(Response(LARGE_BODY)))
    asyncio.run(run(StreamingResponse(endless())))


def test_response_read_late_is_complete() -> None:
    async def run() -> None:
        async with running_server(Response(LARGE_BODY), ServerLimits(idle_timeout=1)) as (listener, port):
            with await connect(port, REQUEST) as connection:
                await wait_until(lambda: len(listener.closing) == 1)
                assert await read(connection, len(LARGE_BODY)) >= len(LARGE_BODY)

    asyncio.run(run())


def test_responses_are_not_delayed() -> None:
    with LimitedListener(socket.AF_INET, ServerLimits()) as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        with socket.create_connection(listener.getsockname()):
            accepted, _ = listener.accept()
            assert accepted.proto == socket.IPPROTO_TCP  # else asyncio does not set TCP_NODELAY
            accepted.close()
            assert not listener.open


def test_slow_request_header_times_out() -> None:
    async def run() -> None:
        async with running_server(Response(b"here"), ServerLimits(idle_timeout=1)) as (_, port):
            loop, start = asyncio.get_running_loop(), time.monotonic()
            with await connect(port, REQUEST) as connection:  # the first request is answered
                assert await read(connection, 1) > 0
                with suppress(ConnectionError):
                    while time.monotonic() < start + TIMEOUT:
                        await loop.sock_sendall(connection, b"G")  # the second request, byte by byte
                        await asyncio.sleep(0.1)
                assert 1 <= time.monotonic() - start < TIMEOUT

    asyncio.run(run())
