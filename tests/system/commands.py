"""Run Weft commands in processes of their own, which a test can signal, pause, or kill during a write.

The processes are forked from a fork server that has imported everything already, so each starts quickly.
"""

import gc
import multiprocessing
import os
import signal
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from types import MappingProxyType
from typing import NamedTuple

CONTEXT = multiprocessing.get_context("forkserver")
CONTEXT.set_forkserver_preload(
    [
        "weft.cli.main",
        "weft.training.training_run",
        "weft.inference.evaluation",
        "weft.inference.translation_io",
        "weft.serve.server",
        "matplotlib.figure",
        "matplotlib.style",
        "sacrebleu.metrics",
        "torch._dynamo",
    ]
)
TIMEOUT = 240.0  # seconds until a command counts as stuck
NEVER = 10**9
GO = "go"  # creating this file resumes a paused command


class LineCount(NamedTuple):
    """The moment when a file has at least this many lines."""

    path: Path
    lines: int

    def is_reached(self) -> bool:
        return self.path.exists() and self.path.read_bytes().count(b"\n") >= self.lines


class Result(NamedTuple):
    """The result of a command. A negative code is the signal that killed it."""

    code: int
    out: bytes
    err: str

    @property
    def lines(self) -> list[str]:
        """The lines on standard output; the last must end with a newline."""
        assert not self.out or self.out.endswith(b"\n")
        return self.out.decode("utf-8").split("\n")[:-1]


class Running:
    """A command that may still be running."""

    def __init__(
        self,
        arguments: tuple[str, ...],
        folder: Path,
        kill_at_write: int,
        pause_at: LineCount | None,
        environment: Mapping[str, str],
    ):
        self.folder = folder
        variables = {"WEFT_CACHE": os.environ.get("WEFT_CACHE", ""), **environment}
        self.process = CONTEXT.Process(target=_run, args=(arguments, folder, kill_at_write, pause_at, variables))
        self.process.start()

    def send(self, number: signal.Signals) -> None:
        assert self.process.pid is not None
        os.kill(self.process.pid, number)

    def wait(self) -> Result:
        self.process.join(TIMEOUT)
        assert self.process.exitcode is not None, "the command is stuck"
        out, err = ((self.folder / name).read_bytes() for name in ("out", "err"))
        return Result(self.process.exitcode, out, err.decode("utf-8"))

    def wait_for(self, path: Path, lines: int) -> None:
        """Wait until the file has this many lines or the command has ended."""
        end = time.monotonic() + TIMEOUT
        while self.process.is_alive() and not LineCount(path, lines).is_reached():
            assert time.monotonic() < end, "the command is stuck"
            time.sleep(0.001)

    def release(self) -> None:
        """Resume the command if it is paused."""
        (self.folder / GO).touch()


@contextmanager
def running(
    *arguments: str | Path,
    stdin: bytes = b"",
    kill_at_write: int = NEVER,
    pause_at: LineCount | None = None,
    environment: Mapping[str, str] = MappingProxyType({}),
) -> Iterator[Running]:
    """Start a command. kill_at_write: kill it just before its nth fsync.

    pause_at: from this line count on, fsync blocks until `release`, so that the command cannot end before the test
    acts, however slow the test is.
    """
    with TemporaryDirectory() as name:
        folder = Path(name)
        for file, content in (("in", stdin), ("out", b""), ("err", b"")):  # a command that is killed early creates none
            (folder / file).write_bytes(content)
        command = Running(tuple(map(str, arguments)), folder, kill_at_write, pause_at, environment)
        try:
            yield command
        finally:
            command.process.kill()
            command.process.join()


def weft(*arguments: str | Path, stdin: bytes = b"", kill_at_write: int = NEVER) -> Result:
    """Run a command to its end."""
    with running(*arguments, stdin=stdin, kill_at_write=kill_at_write) as command:
        return command.wait()


def _run(
    arguments: tuple[str, ...],
    folder: Path,
    kill_at_write: int,
    pause_at: LineCount | None,
    environment: Mapping[str, str],
) -> None:
    """In the new process: run `weft ARGUMENTS`."""
    gc.freeze()  # a collection of the fork server's objects would take longer than most commands
    import torch

    from weft.cli.main import main

    torch.set_num_threads(1)
    os.environ.update(environment)
    tempfile.tempdir = None  # a new process has no cached value; `environment` may set TMPDIR
    _redirect(folder)
    _kill_at_write(kill_at_write)
    if pause_at is not None:
        _pause_at(pause_at, folder / GO)
    sys.argv = ["weft", *arguments]
    main()


def _redirect(folder: Path) -> None:
    for number, (name, flags) in enumerate((("in", os.O_RDONLY), ("out", os.O_WRONLY), ("err", os.O_WRONLY))):
        os.dup2(os.open(folder / name, flags | os.O_CREAT), number)
    sys.stdin = os.fdopen(0, encoding="utf-8")


def _kill_at_write(number: int) -> None:
    """Kill this process at the nth call of fsync."""
    original, calls = os.fsync, iter(range(1, number))

    def fsync(descriptor: int) -> None:
        if next(calls, None) is None:
            os.kill(os.getpid(), signal.SIGKILL)
        original(descriptor)

    os.fsync = fsync  # type: ignore[assignment]  # only ever called with numbers


def _pause_at(count: LineCount, go: Path) -> None:
    """Block every call of fsync from this line count on, until the file `go` exists."""
    original = os.fsync

    def fsync(descriptor: int) -> None:
        while count.is_reached() and not go.exists():
            time.sleep(0.001)
        original(descriptor)

    os.fsync = fsync  # type: ignore[assignment]  # only ever called with numbers
