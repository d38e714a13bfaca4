"""Connections: only so many, and none that keeps an answer waiting for ever."""

import asyncio
import socket
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import ExitStack, asynccontextmanager

import uvicorn
from starlette.applications import Starlette
from starlette.responses import Response, StreamingResponse
from starlette.routing import Mount
from starlette.types import ASGIApp

from weft.serve.connections import protocol_of
from weft.serve.limits import Limits
from weft.serve.run import Server

PATIENCE = 60.0  # far more than is needed
LONG = bytes(2**25)  # more than lies between two ends of a connection
ASKED = b"GET / HTTP/1.1\r\nHost: a\r\n\r\n"


@asynccontextmanager
async def served(app: ASGIApp, limits: Limits) -> AsyncIterator[tuple[Server, int]]:
    """A server of this application, and its port."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        options = {"ws": "none", "lifespan": "off", "log_config": None, "timeout_keep_alive": limits.idle}
        server = Server(uvicorn.Config(app, http=protocol_of(limits), **options))  # type: ignore[arg-type]
        serving = asyncio.create_task(server.serve([listener]))
        await until(lambda: server.started)
        try:
            yield server, listener.getsockname()[1]
        finally:
            server.should_exit = server.force_exit = True
            await serving


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
        async with served(Response(b"here"), Limits(connections=10, idle=10_000)) as (server, port):
            with ExitStack() as stack:
                ends = [
                    stack.enter_context(one) for one in await asyncio.gather(*(connected(port) for _ in range(200)))
                ]
                await until(lambda: sum(is_closed(one) for one in ends) == 190)
                assert len(server.server_state.connections) == 10
                with await connected(port, ASKED) as one:
                    assert await read(one, 1) > 0

    asyncio.run(run())


def test_where_none_is_idle_a_new_connection_is_not_taken() -> None:
    async def run() -> None:
        let = asyncio.Event()

        async def slow(scope: object, receive: object, send: Callable[[object], Awaitable[None]]) -> None:
            await let.wait()
            await Response(b"here")(scope, receive, send)  # type: ignore[arg-type]

        async with served(slow, Limits(connections=3)) as (server, port):  # type: ignore[arg-type]
            with ExitStack() as stack:
                busy = [stack.enter_context(await connected(port, ASKED)) for _ in range(3)]
                await until(lambda: len(server.server_state.tasks) == 3)
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
        async with served(app, Limits(seconds=1, idle=1)) as (server, port):
            with ExitStack() as stack:
                for _ in range(3):
                    assert await read(stack.enter_context(await connected(port, ASKED)), 1) > 0
                with await connected(port, ASKED.replace(b"/", b"/short", 1)) as other:
                    assert await read(other, 1) > 0  # all the while, others are answered
                await until(lambda: not server.server_state.connections)

    asyncio.run(run(Response(LONG)))
    asyncio.run(run(StreamingResponse(endless())))


def test_an_answer_that_is_read_late_comes_whole() -> None:
    async def run() -> None:
        async with served(Response(LONG), Limits(idle=1)) as (server, port):
            with await connected(port, ASKED) as one:
                await until(lambda: any(each.transport.is_closing() for each in server.server_state.connections))
                assert await read(one, len(LONG)) >= len(LONG)

    asyncio.run(run())
