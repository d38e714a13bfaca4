"""Connections: only so many, and none that keeps an answer waiting for ever."""

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

PATIENCE = 60.0  # far more than is needed
LONG = bytes(2**25)  # more than lies between two ends of a connection
ASKED = b"GET / HTTP/1.1\r\nHost: a\r\n\r\n"


@asynccontextmanager
async def served(app: ASGIApp, limits: ServerLimits) -> AsyncIterator[tuple[LimitedListener, int]]:
    """A server of this application, by its listener and its port."""
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
        await until(lambda: server.started)
        try:
            yield listener, listener.getsockname()[1]
        finally:
            server.should_exit = server.force_exit = True
            await tasks[0]
            tasks[1].cancel()


async def until(reached: Callable[[], bool]) -> None:
    async with asyncio.timeout(PATIENCE):
        while not reached():
            await asyncio.sleep(0.01)


async def connected(port: int, said: bytes = b"") -> socket.socket:
    """A connection on which this was said, and nothing is read."""
    one, loop = socket.socket(), asyncio.get_running_loop()
    one.setblocking(False)
    await loop.sock_connect(one, ("127.0.0.1", port))
    await loop.sock_sendall(one, said)
    return one


def is_closed(one: socket.socket) -> bool:
    """Has the other end gone? Nothing was ever said there."""
    try:
        return one.recv(1, socket.MSG_PEEK) == b""
    except BlockingIOError:
        return False


async def read(one: socket.socket, count: int) -> int:
    """How many bytes come, up to so many."""
    found = 0
    while found < count and (part := await asyncio.get_running_loop().sock_recv(one, 2**20)):
        found += len(part)
    return found


def test_a_burst_of_connections_stays_within_the_limit() -> None:
    async def run() -> None:
        async with served(Response(b"here"), ServerLimits(connections=10, idle_timeout=10_000)) as (listener, port):
            with ExitStack() as stack:
                ends = [
                    stack.enter_context(one) for one in await asyncio.gather(*(connected(port) for _ in range(200)))
                ]
                await until(lambda: sum(is_closed(one) for one in ends) == 190)
                assert listener.open_connections == 10
                with await connected(port, ASKED) as one:
                    assert await read(one, 1) > 0

    asyncio.run(run())


def test_where_none_is_idle_a_new_connection_is_not_taken() -> None:
    async def run() -> None:
        let, begun = asyncio.Event(), list[object]()

        async def slow(scope: object, receive: object, send: Callable[[object], Awaitable[None]]) -> None:
            begun.append(scope)
            await let.wait()
            await Response(b"here")(scope, receive, send)  # type: ignore[arg-type]

        async with served(slow, ServerLimits(connections=3)) as (_, port):  # type: ignore[arg-type]
            with ExitStack() as stack:
                busy = [stack.enter_context(await connected(port, ASKED)) for _ in range(3)]
                await until(lambda: len(begun) == 3)
                more = stack.enter_context(await connected(port))
                await until(lambda: is_closed(more))
                let.set()
                assert [await read(one, 1) > 0 for one in busy] == [True] * 3

    asyncio.run(run())


def test_an_answer_that_is_not_read_is_given_up() -> None:
    async def endless() -> AsyncIterator[bytes]:
        while True:
            yield LONG
            await asyncio.sleep(0)

    async def run(answer: ASGIApp) -> None:
        app = Starlette(routes=[Mount("/short", Response(b"here")), Mount("/", answer)])
        async with served(app, ServerLimits(timeout=1, idle_timeout=1)) as (listener, port):
            with ExitStack() as stack:
                for _ in range(3):
                    assert await read(stack.enter_context(await connected(port, ASKED)), 1) > 0
                with await connected(port, ASKED.replace(b"/", b"/short", 1)) as other:
                    assert await read(other, 1) > 0  # all the while, others are answered
                await until(lambda: not listener.open_connections)

    asyncio.run(run(Response(LONG)))
    asyncio.run(run(StreamingResponse(endless())))


def test_an_answer_that_is_read_late_comes_whole() -> None:
    async def run() -> None:
        async with served(Response(LONG), ServerLimits(idle_timeout=1)) as (listener, port):
            with await connected(port, ASKED) as one:
                await until(lambda: listener.closing_connections == 1)
                assert await read(one, len(LONG)) >= len(LONG)

    asyncio.run(run())


def test_responses_are_not_delayed() -> None:
    with LimitedListener(socket.AF_INET, ServerLimits()) as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        with socket.create_connection(listener.getsockname()):
            accepted, _ = listener.accept()
            assert accepted.proto == socket.IPPROTO_TCP  # else asyncio does not set TCP_NODELAY
            accepted.close()
            assert listener.open_connections == 0


def test_a_head_that_comes_slowly_is_closed_in_time() -> None:
    async def run() -> None:
        async with served(Response(b"here"), ServerLimits(idle_timeout=1)) as (_, port):
            with await connected(port, ASKED) as one:  # a first request is answered
                assert await read(one, 1) > 0
                loop, begun = asyncio.get_running_loop(), time.monotonic()
                with suppress(ConnectionError):
                    while time.monotonic() < begun + PATIENCE:
                        await loop.sock_sendall(one, b"G")  # of a second one, a byte now and then
                        await asyncio.sleep(0.1)
                assert 0.5 < time.monotonic() - begun < PATIENCE

    asyncio.run(run())
