"""Servers in processes of their own, and what is asked of them."""

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

from system.commands import PATIENCE, Running, running

KEY = "abcdefghijklmnopqrstuvwxyz"


class Server:
    """A server that answers at its address."""

    def __init__(self, command: Running, address: str):
        self.command, self.address = command, address
        self.host, self.port = "127.0.0.1", int(address.rpartition(":")[2])

    def post(self, path: str, body: Any) -> httpx2.Response:
        return httpx2.post(f"{self.address}{path}", json=body, timeout=PATIENCE)

    def get(self, path: str, headers: Mapping[str, str] = MappingProxyType({})) -> httpx2.Response:
        return httpx2.get(f"{self.address}{path}", headers=headers, timeout=PATIENCE)

    def translated(self, text: str, target: str = "de") -> str:
        """By the API of LibreTranslate."""
        answer = self.post("/translate", {"q": text, "source": "en", "target": target})
        assert answer.status_code == 200, answer.text
        return str(answer.json()["translatedText"])

    def connect(self) -> socket.socket:
        return socket.create_connection((self.host, self.port), timeout=PATIENCE)

    def is_open(self) -> bool:
        """Does it take new connections?"""
        try:
            self.connect().close()
        except ConnectionRefusedError:
            return False
        return True

    def asking(self, path: str, body: Any) -> socket.socket:
        """A connection on which this was asked, and nothing was read yet."""
        content, one = json.dumps(body).encode(), self.connect()
        one.sendall(self.head(path, len(content)) + content)
        return one

    def head(self, path: str, length: int) -> bytes:
        """Of a request whose body has so many bytes."""
        lines = (f"POST {path} HTTP/1.1", f"Host: {self.host}:{self.port}", "Content-Type: application/json")
        return "\r\n".join((*lines, f"Content-Length: {length}", "\r\n")).encode()

    @property
    def told(self) -> str:
        """What it has said on standard error so far."""
        return (self.command.folder / "err").read_text("utf-8")

    def until(self, reached: Callable[[], bool]) -> None:
        """Wait for it as long as the server runs, but not for ever."""
        end = time.monotonic() + PATIENCE
        while not reached():
            assert self.command.process.is_alive(), self.told
            assert time.monotonic() < end, f"the server is stuck: {self.told}"
            time.sleep(0.01)

    def stop(self) -> int:
        """Ask it to end; its exit code."""
        self.command.send(signal.SIGTERM)
        return self.command.wait().code


@contextmanager
def serving(*arguments: str | Path, environment: Mapping[str, str] = MappingProxyType({})) -> Iterator[Server]:
    """`weft serve` at a port that is free."""
    with running("serve", *arguments, "--port", "0", environment=environment) as command:
        yield Server(command, address_of(command))


def address_of(command: Running) -> str:
    """Where it says that it serves."""
    end, told = time.monotonic() + PATIENCE, command.folder / "err"
    while True:
        found = re.search(r"serving at (\S+)\n", told.read_text("utf-8") if told.exists() else "")
        if found:
            return found[1]
        assert command.process.is_alive(), told.read_text("utf-8")
        assert time.monotonic() < end, "the server is stuck"
        time.sleep(0.01)
