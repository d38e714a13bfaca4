"""Two nodes on one machine: network namespaces connected by a veth pair, in which torchrun starts its processes.

Needs Linux, root and `ip` (iproute2); the test is skipped elsewhere.
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

CABLE = "cable0"  # the same interface name in both namespaces
PORT = 29500
TIMEOUT = 300.0  # seconds until a node counts as stuck
BINARIES = Path(sys.executable).parent


class Node(NamedTuple):
    """number: from 0; folder: working directory of the node, which also holds its token cache."""

    namespace: str
    number: int
    folder: Path

    @property
    def address(self) -> str:
        return address_of(self.number)

    def start(self, options: Sequence[str], command: Sequence[str | Path]) -> subprocess.Popen[bytes]:
        """Start `torchrun OPTIONS -m weft COMMAND` in the namespace; its output goes to FOLDER/output."""
        prefix = ["ip", "netns", "exec", self.namespace]
        with (self.folder / "output").open("ab") as output:
            return subprocess.Popen(
                [*prefix, str(BINARIES / "torchrun"), *options, "-m", "weft", *map(str, command)],
                cwd=self.folder,
                env={**os.environ, **self._environment()},
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
            )

    def _environment(self) -> dict[str, str]:
        cache = str(self.folder / "cache")
        return {"GLOO_SOCKET_IFNAME": CABLE, "WEFT_CACHE": cache, "OMP_NUM_THREADS": "1"}

    def kill(self) -> None:
        """Kill all processes of the node, as a power cut would."""
        for process in ip("netns", "pids", self.namespace).split():
            with suppress(ProcessLookupError):  # it has just ended
                os.kill(int(process), signal.SIGKILL)

    def output(self) -> str:
        return (self.folder / "output").read_text("utf-8")


def address_of(number: int) -> str:
    return f"10.213.97.{number + 1}"


def ip(*arguments: str) -> str:
    return subprocess.run(["ip", *arguments], check=True, capture_output=True, text=True).stdout


@contextmanager
def two_nodes(folder: Path) -> Iterator[tuple[Node, Node]]:
    """Create two connected nodes; remove them and their processes at the end."""
    if sys.platform != "linux" or os.geteuid() != 0 or shutil.which("ip") is None:
        pytest.skip("network namespaces need Linux, root and iproute2")
    with ExitStack() as stack:
        first, second = (stack.enter_context(namespace(number, folder)) for number in range(2))
        ip("link", "add", CABLE, "netns", first.namespace, "type", "veth", "peer", CABLE, "netns", second.namespace)
        for node in (first, second):
            options = ("-n", node.namespace)
            ip(*options, "address", "add", f"{node.address}/24", "dev", CABLE)
            for link in ("lo", CABLE):
                ip(*options, "link", "set", link, "up")
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


def wait_for_result(node: Node, process: subprocess.Popen[bytes]) -> Result:
    """Wait for the process to end."""
    code = process.wait(TIMEOUT)
    return Result(code, b"", node.output())


def wait_for_step(log: Path, step: int, node: Node) -> None:
    """Wait until the log has `step` lines."""
    end = time.monotonic() + TIMEOUT
    while not log.exists() or log.read_bytes().count(b"\n") < step:
        assert time.monotonic() < end, node.output()
        time.sleep(0.005)
