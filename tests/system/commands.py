"""Commands of Weft in processes of their own, which can be told to stop, killed, or made to die while they write.

They are forked from a server that has imported everything already, so that each starts at once.
"""

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
        "weft.training.training_run",
        "weft.inference.evaluation",
        "weft.inference.translation_io",
        "weft.serve.server",
        "sacrebleu.metrics",
        "torch._dynamo",
    ]
)
PATIENCE = 240.0  # seconds until a command is taken for stuck
NEVER = 10**9
GO = "go"  # a file that lets a command go on


class Moment(NamedTuple):
    """When a file has so many lines."""

    path: Path
    lines: int

    def has_come(self) -> bool:
        return self.path.exists() and self.path.read_bytes().count(b"\n") >= self.lines


class Result(NamedTuple):
    """What came of a command. A negative code is the signal that killed it."""

    code: int
    out: bytes
    err: str

    @property
    def lines(self) -> list[str]:
        """The lines on standard output; the last must have ended."""
        assert not self.out or self.out.endswith(b"\n")
        return self.out.decode("utf-8").split("\n")[:-1]


class Running:
    """A command that may still run."""

    def __init__(
        self,
        arguments: tuple[str, ...],
        folder: Path,
        dies_at: int,
        held_at: Moment | None,
        environment: Mapping[str, str],
    ):
        self.folder = folder
        told = {"WEFT_CACHE": os.environ.get("WEFT_CACHE", ""), **environment}
        self.process = CONTEXT.Process(target=_run, args=(arguments, folder, dies_at, held_at, told))
        self.process.start()

    def send(self, number: signal.Signals) -> None:
        assert self.process.pid is not None
        os.kill(self.process.pid, number)

    def wait(self) -> Result:
        self.process.join(PATIENCE)
        assert self.process.exitcode is not None, "the command is stuck"
        out, err = ((self.folder / name).read_bytes() for name in ("out", "err"))
        return Result(self.process.exitcode, out, err.decode("utf-8"))

    def wait_for(self, path: Path, lines: int) -> None:
        """Until the file has so many lines, or the command has ended."""
        end = time.monotonic() + PATIENCE
        while self.process.is_alive() and not Moment(path, lines).has_come():
            assert time.monotonic() < end, "the command is stuck"
            time.sleep(0.001)

    def let_go(self) -> None:
        """If it is held, it goes on."""
        (self.folder / GO).touch()


@contextmanager
def running(
    *arguments: str | Path,
    stdin: bytes = b"",
    dies_at: int = NEVER,
    held_at: Moment | None = None,
    environment: Mapping[str, str] = MappingProxyType({}),
) -> Iterator[Running]:
    """Start a command. With `dies_at` it is killed when it is about to bring something to the disk for the nth time.

    With `held_at` it brings nothing more to the disk from there on, until it is let go: so it has not ended when a test
    does something to it, however slow the test is.
    """
    with TemporaryDirectory() as name:
        folder = Path(name)
        for file, content in (("in", stdin), ("out", b""), ("err", b"")):  # one that is killed at once makes none
            (folder / file).write_bytes(content)
        command = Running(tuple(map(str, arguments)), folder, dies_at, held_at, environment)
        try:
            yield command
        finally:
            command.process.kill()
            command.process.join()


def weft(*arguments: str | Path, stdin: bytes = b"", dies_at: int = NEVER) -> Result:
    """Run a command to its end."""
    with running(*arguments, stdin=stdin, dies_at=dies_at) as command:
        return command.wait()


def _run(
    arguments: tuple[str, ...], folder: Path, dies_at: int, held_at: Moment | None, environment: Mapping[str, str]
) -> None:
    """In the new process: be `weft arguments`."""
    import torch

    from weft.cli.main import main

    torch.set_num_threads(1)
    os.environ.update(environment)
    tempfile.tempdir = None  # as in a process that is really new: it may have been told another place
    _redirect(folder)
    _die_at(dies_at)
    if held_at is not None:
        _hold_at(held_at, folder / GO)
    sys.argv = ["weft", *arguments]
    main()


def _redirect(folder: Path) -> None:
    for number, (name, flags) in enumerate((("in", os.O_RDONLY), ("out", os.O_WRONLY), ("err", os.O_WRONLY))):
        os.dup2(os.open(folder / name, flags | os.O_CREAT), number)
    sys.stdin = os.fdopen(0, encoding="utf-8")


def _die_at(number: int) -> None:
    """Let the nth call of fsync be the end."""
    really, calls = os.fsync, iter(range(1, number))

    def fsync(descriptor: int) -> None:
        if next(calls, None) is None:
            os.kill(os.getpid(), signal.SIGKILL)
        really(descriptor)

    os.fsync = fsync  # type: ignore[assignment]  # only ever called with numbers


def _hold_at(moment: Moment, go: Path) -> None:
    """Let every call of fsync from there on wait."""
    really = os.fsync

    def fsync(descriptor: int) -> None:
        while moment.has_come() and not go.exists():
            time.sleep(0.001)
        really(descriptor)

    os.fsync = fsync  # type: ignore[assignment]  # only ever called with numbers
