"""Machines inside this one: network namespaces, joined by a cable (veth), in which torchrun starts its processes.

Linux, `ip` (iproute2) and the rights of root are needed; a test that has them not is skipped, and says so.
"""

import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import NamedTuple
from uuid import uuid4

import pytest

from system.commands import Result

CABLE = "cable0"  # its end has the same name in both namespaces
PORT = 29500
PATIENCE = 300.0  # seconds until a node is taken for stuck
BINARIES = Path(sys.executable).parent


class Node(NamedTuple):
    """namespace: its name; number: from 0; folder: of its own, where it runs, and keeps its token cache."""

    namespace: str
    number: int
    folder: Path

    @property
    def address(self) -> str:
        return address_of(self.number)

    def start(self, options: Sequence[str], command: Sequence[str | Path]) -> subprocess.Popen[bytes]:
        """`torchrun OPTIONS -m weft COMMAND` in the namespace; what it says goes to `said` in the folder."""
        inside = ["ip", "netns", "exec", self.namespace]
        with (self.folder / "said").open("ab") as said:
            return subprocess.Popen(
                [*inside, str(BINARIES / "torchrun"), *options, "-m", "weft", *map(str, command)],
                cwd=self.folder,
                env={**os.environ, **self._settings()},
                stdin=subprocess.DEVNULL,
                stdout=said,
                stderr=said,
            )

    def _settings(self) -> dict[str, str]:
        cache = str(self.folder / "cache")
        return {"GLOO_SOCKET_IFNAME": CABLE, "WEFT_CACHE": cache, "OMP_NUM_THREADS": "1"}

    def kill(self) -> None:
        """End all that runs there at once, as a power cut would."""
        for process in ip("netns", "pids", self.namespace).split():
            with suppress(ProcessLookupError):  # it has just ended by itself
                os.kill(int(process), signal.SIGKILL)

    def said(self) -> str:
        return (self.folder / "said").read_text("utf-8")


def address_of(number: int) -> str:
    return f"10.213.97.{number + 1}"


def ip(*arguments: str) -> str:
    return subprocess.run(["ip", *arguments], check=True, capture_output=True, text=True).stdout


@contextmanager
def two_nodes(folder: Path) -> Iterator[tuple[Node, Node]]:
    """Both are gone afterwards, whatever happens, with all that ran in them; the cable goes with them."""
    if sys.platform != "linux" or os.geteuid() != 0 or shutil.which("ip") is None:
        pytest.skip("network namespaces need Linux, root and iproute2")
    with ExitStack() as stack:
        first, second = (stack.enter_context(namespace(number, folder)) for number in range(2))
        ip("link", "add", CABLE, "netns", first.namespace, "type", "veth", "peer", CABLE, "netns", second.namespace)
        for node in (first, second):
            inside = ("-n", node.namespace)
            ip(*inside, "address", "add", f"{node.address}/24", "dev", CABLE)
            for link in ("lo", CABLE):
                ip(*inside, "link", "set", link, "up")
        yield first, second


@contextmanager
def namespace(number: int, folder: Path) -> Iterator[Node]:
    node = Node(f"weft-{uuid4().hex[:8]}", number, folder / f"node{number}")
    node.folder.mkdir()
    try:
        ip("netns", "add", node.namespace)
    except subprocess.CalledProcessError as error:
        pytest.skip(f"network namespaces are not allowed here: {error.stderr.strip()}")
    try:
        yield node
    finally:
        node.kill()
        ip("netns", "delete", node.namespace)


def ended(node: Node, process: subprocess.Popen[bytes]) -> Result:
    """What came of it."""
    code = process.wait(PATIENCE)
    return Result(code, b"", node.said())


def wait_for_step(log: Path, step: int, node: Node) -> None:
    """Until the run has made so many steps."""
    end = time.monotonic() + PATIENCE
    while not log.exists() or log.read_bytes().count(b"\n") < step:
        assert time.monotonic() < end, node.said()
        time.sleep(0.005)
