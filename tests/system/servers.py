"""Start `weft serve` in a process of its own and send requests to it."""

import json
import re
import signal
import socket
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import MappingProxyType
from typing import Any

import httpx2

from system.commands import TIMEOUT, Running, running

KEY = "abcdefghijklmnopqrstuvwxyz"


class Server:
    """A running server."""

    def __init__(self, command: Running, address: str):
        self.command, self.address = command, address
        self.host, self.port = "127.0.0.1", int(address.rpartition(":")[2])

    def post(self, path: str, body: Any) -> httpx2.Response:
        return httpx2.post(f"{self.address}{path}", json=body, timeout=TIMEOUT)

    def get(self, path: str, headers: Mapping[str, str] = MappingProxyType({})) -> httpx2.Response:
        return httpx2.get(f"{self.address}{path}", headers=headers, timeout=TIMEOUT)

    def translate(self, text: str, target: str = "de") -> str:
        """Translate with the LibreTranslate API."""
        response = self.post("/translate", {"q": text, "source": "en", "target": target})
        assert response.status_code == 200, response.text
        return str(response.json()["translatedText"])

    def connect(self) -> socket.socket:
        return socket.create_connection((self.host, self.port), timeout=TIMEOUT)

    def is_open(self) -> bool:
        """Whether the server accepts new connections."""
        try:
            self.connect().close()
        except ConnectionRefusedError:
            return False
        return True

    def send_request(self, path: str, body: Any) -> socket.socket:
        """Send a request; return its connection, from which nothing has been read yet."""
        content, connection = json.dumps(body).encode(), self.connect()
        connection.sendall(self.request_head(path, len(content)) + content)
        return connection

    def request_head(self, path: str, length: int) -> bytes:
        """Return the request line and headers for a body of `length` bytes."""
        lines = (f"POST {path} HTTP/1.1", f"Host: {self.host}:{self.port}", "Content-Type: application/json")
        return "\r\n".join((*lines, f"Content-Length: {length}", "\r\n")).encode()

    @property
    def log(self) -> str:
        """Standard error so far."""
        return (self.command.folder / "err").read_text("utf-8")

    def wait_until(self, condition: Callable[[], bool]) -> None:
        """Wait until the condition holds; fail if the server ends or TIMEOUT passes."""
        end = time.monotonic() + TIMEOUT
        while not condition():
            assert self.command.process.is_alive(), self.log
            assert time.monotonic() < end, f"the server is stuck: {self.log}"
            time.sleep(0.01)

    def stop(self) -> int:
        """Stop the server with SIGTERM; return its exit code."""
        self.command.send(signal.SIGTERM)
        return self.command.wait().code


@contextmanager
def start_server(*arguments: str | Path, environment: Mapping[str, str] = MappingProxyType({})) -> Iterator[Server]:
    """Start `weft serve` on a free port."""
    with running("serve", *arguments, "--port", "0", environment=environment) as command:
        yield Server(command, server_address(command))


def server_address(command: Running) -> str:
    """Wait for the address that the server prints."""
    end, log = time.monotonic() + TIMEOUT, command.folder / "err"
    while True:
        match = re.search(r"serving at (\S+)\n", log.read_text("utf-8") if log.exists() else "")
        if match:
            return match[1]
        assert command.process.is_alive(), log.read_text("utf-8")
        assert time.monotonic() < end, "the server is stuck"
        time.sleep(0.01)
