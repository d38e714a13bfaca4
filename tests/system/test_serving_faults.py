"""Clients that do everything wrong, by the dozen and by the thousand: all the while, others are answered."""

import socket
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from pathlib import Path
from threading import Event

import httpx2
import pytest

from system.commands import PATIENCE
from system.servers import Server, serving
from system.test_serving import BYTES
from weft.serve.server import raise_file_limit

pytestmark = pytest.mark.slow
LINE = "the red cat sees a dog"
LARGE = b"x" * 10_000_000
HALVES = [
    b"",
    b"POST /transl",
    b"POST /translate HTTP/1.1\r\nHost: localhost\r\nContent-",
    b"GET / HTTP/1.1\r\nHost: a",
]


@pytest.fixture(scope="module")
def server(runs: dict[str, Path]) -> Iterator[Server]:
    with serving(runs["transformer"], "--languages", "en:de", "--limit", "timeout=20") as one:
        yield one


@contextmanager
def others(server: Server) -> Iterator[Callable[[], None]]:
    """Some who ask on and on, and are answered rightly; gives what waits until they were, once more."""
    right, over, answered = server.translated(LINE), Event(), list[str]()

    def keep_asking() -> None:
        while not over.is_set():
            assert server.translated(LINE) == right
            answered.append(right)

    def again() -> None:
        goal = len(answered) + 12
        server.until(lambda: len(answered) >= goal or any(one.done() for one in asking))
        assert not any(one.done() for one in asking)

    with ThreadPoolExecutor(4) as pool:
        asking = [pool.submit(keep_asking) for _ in range(4)]
        try:
            again()
            yield again
            again()
        finally:
            over.set()
    assert [one.result() for one in asking] == [None] * 4


def ended(one: socket.socket) -> bytes:
    """All that comes until the other end closes the connection; nothing, if it breaks off."""
    said = b""
    try:
        while part := one.recv(4096):
            said += part
    except ConnectionError:
        return b""
    return said


def test_malformed_bodies_hurt_nobody_else(server: Server) -> None:
    def post(wrong: tuple[bytes, str, int]) -> int:
        headers = {"content-type": wrong[1]} if wrong[1] else {}
        answer = httpx2.post(f"{server.address}/translate", content=wrong[0], headers=headers, timeout=PATIENCE)
        return answer.status_code

    wrong = [one for one in BYTES if len(one[0]) < 100_000] * 20
    with others(server), ThreadPoolExecutor(8) as pool:
        assert list(pool.map(post, wrong)) == [status for _, _, status in wrong]


def test_bodies_of_10_megabytes_hurt_nobody_else(server: Server) -> None:
    def post(_: int) -> bytes:
        with server.connect() as one:
            try:
                one.sendall(server.head("/translate", len(LARGE)) + LARGE)
            except ConnectionError:
                return b""  # it has heard enough
            return ended(one)

    with others(server), ThreadPoolExecutor(8) as pool:
        for said in pool.map(post, range(24)):
            assert said == b"" or said.startswith(b"HTTP/1.1 413 ")


def test_requests_that_stop_half_way_hurt_nobody_else(server: Server) -> None:
    with others(server) as again, ExitStack() as stack:
        bodies = [stack.enter_context(server.connect()) for _ in range(100)]
        for one in bodies:
            one.sendall(server.head("/translate", 1000) + b'{"q": "the red')
        for half in HALVES * 25:
            stack.enter_context(server.connect()).sendall(half)
        for _ in range(100):
            with server.connect() as one:  # and some that leave at once
                one.sendall(server.head("/translate", 1000) + b'{"q": "the red')
        again()
        for one in bodies:
            assert ended(one).startswith(b"HTTP/1.1 408 ")


def test_a_thousand_idle_connections_hurt_nobody_else(server: Server) -> None:
    raise_file_limit(4000)
    with others(server) as again, ExitStack() as stack:
        idle = [stack.enter_context(server.connect()) for _ in range(1000)]
        again()
        idle += [stack.enter_context(server.connect()) for _ in range(2000)]  # more than the limit
        again()
        for one in idle:
            assert ended(one) == b""  # in its time
