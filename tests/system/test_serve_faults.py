"""A server under many faulty clients keeps answering the correct ones."""

import socket
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from pathlib import Path
from threading import Event

import httpx2
import pytest

from system.commands import TIMEOUT
from system.servers import Server, start_server
from system.test_serve import MALFORMED_BODIES
from weft.serve.server import raise_file_limit

pytestmark = pytest.mark.slow
LINE = "the red cat sees a dog"
LARGE_BODY = b"x" * 10_000_000
PARTIAL_REQUESTS = [
    b"",
    b"POST /transl",
    b"POST /translate HTTP/1.1\r\nHost: localhost\r\nContent-",
    b"GET / HTTP/1.1\r\nHost: a",
]


@pytest.fixture(scope="module")
def server(runs: dict[str, Path]) -> Iterator[Server]:
    with start_server(runs["transformer"], "--languages", "en:de", "--limit", "timeout=20") as server:
        yield server


@contextmanager
def correct_clients(server: Server) -> Iterator[Callable[[], None]]:
    """Send correct requests continuously and check the responses; yield a function that waits for 12 more of them."""
    expected, stopped, responses = server.translate(LINE), Event(), list[str]()

    def send_requests() -> None:
        while not stopped.is_set():
            assert server.translate(LINE) == expected
            responses.append(expected)

    def wait_for_more() -> None:
        goal = len(responses) + 12
        server.wait_until(lambda: len(responses) >= goal or any(client.done() for client in clients))
        assert not any(client.done() for client in clients)

    with ThreadPoolExecutor(4) as pool:
        clients = [pool.submit(send_requests) for _ in range(4)]
        try:
            wait_for_more()
            yield wait_for_more
            wait_for_more()
        finally:
            stopped.set()
    assert [client.result() for client in clients] == [None] * 4


def read_to_end(connection: socket.socket) -> bytes:
    """Return all bytes until the server closes the connection; empty if the connection breaks."""
    content = b""
    try:
        while part := connection.recv(4096):
            content += part
    except ConnectionError:
        return b""
    return content


def test_malformed_bodies_do_not_affect_other_clients(server: Server) -> None:
    def post(request: tuple[bytes, str, int]) -> int:
        headers = {"content-type": request[1]} if request[1] else {}
        response = httpx2.post(f"{server.address}/translate", content=request[0], headers=headers, timeout=TIMEOUT)
        return response.status_code

    requests = [request for request in MALFORMED_BODIES if len(request[0]) < 100_000] * 20
    with correct_clients(server), ThreadPoolExecutor(8) as pool:
        assert list(pool.map(post, requests)) == [status for _, _, status in requests]


def test_bodies_of_10_megabytes_do_not_affect_other_clients(server: Server) -> None:
    def post(_: int) -> bytes:
        with server.connect() as connection:
            try:
                connection.sendall(server.request_head("/translate", len(LARGE_BODY)) + LARGE_BODY)
            except ConnectionError:
                return b""  # the server closed the connection early
            return read_to_end(connection)

    with correct_clients(server), ThreadPoolExecutor(8) as pool:
        for content in pool.map(post, range(24)):
            assert content == b"" or content.startswith(b"HTTP/1.1 413 ")


def test_incomplete_requests_do_not_affect_other_clients(server: Server) -> None:
    with correct_clients(server) as wait_for_more, ExitStack() as stack:
        bodies = [stack.enter_context(server.connect()) for _ in range(100)]
        for connection in bodies:
            connection.sendall(server.request_head("/translate", 1000) + b'{"q": "the red')
        for content in PARTIAL_REQUESTS * 25:
            stack.enter_context(server.connect()).sendall(content)
        for _ in range(100):
            with server.connect() as connection:  # closed without waiting
                connection.sendall(server.request_head("/translate", 1000) + b'{"q": "the red')
        wait_for_more()
        for connection in bodies:
            assert read_to_end(connection).startswith(b"HTTP/1.1 408 ")


def test_idle_connections_do_not_affect_other_clients(server: Server) -> None:
    raise_file_limit(4000)
    with correct_clients(server) as wait_for_more, ExitStack() as stack:
        idle = [stack.enter_context(server.connect()) for _ in range(1000)]
        wait_for_more()
        idle += [stack.enter_context(server.connect()) for _ in range(2000)]  # more than the limit
        wait_for_more()
        for connection in idle:
            assert read_to_end(connection) == b""  # closed after the timeout
