"""weft translate --interactive: in a pipe, and at a terminal."""

import fcntl
import os
import pty
import re
import select
import sys
import termios
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from system.commands import CONTEXT, PATIENCE, weft

SENTENCE = "the red cat sees a dog"


def test_lines_of_a_pipe_are_answered_as_if_they_were_typed(runs: dict[str, Path]) -> None:
    plain = weft("translate", runs["bahdanau"], stdin=f"{SENTENCE}\n".encode()).lines[0]
    lines = [SENTENCE, ":1", ":beam 3", ":attention", "", ":bem", ":quit", "a dog"]
    done = weft("translate", runs["bahdanau"], "--interactive", stdin="".join(f"{line}\n" for line in lines).encode())
    assert (done.code, done.err) == (0, "")
    assert [line for line in done.lines if line.startswith("> ")] == [f"> {line}" for line in lines[:-1]]
    shown = "\n".join(done.lines)
    for told in (*plain.split(), "current", "outputs of the search", "did you mean :beam?", "<end>"):
        assert told in shown
    assert "\x1b" not in shown


def test_what_is_asked_of_every_sentence_holds(runs: dict[str, Path]) -> None:
    done = weft("translate", runs["transformer"], "-i", "-v", "--prefix", "un hundo", "--n-best", "2", stdin=b"a cat\n")
    assert (done.code, done.err) == (0, "weft: backend torch: --interactive is set\n")
    assert "chosen up to position 2" in "\n".join(done.lines)
    assert sum(line.count("un hundo") for line in done.lines) == 2


def test_what_is_no_text_is_told(runs: dict[str, Path]) -> None:
    done = weft("translate", runs["bahdanau"], "-i", stdin=b"caf\xe9\n")
    assert done.code == 2
    assert "standard input, line 1: not UTF-8" in done.err


class Terminal:
    """A command at a terminal of its own."""

    def __init__(self, *arguments: str | Path):
        self.screen, own = pty.openpty()
        self.process = CONTEXT.Process(target=be_at, args=(os.ttyname(own), tuple(map(str, arguments))))
        self.process.start()
        self.shown = ""
        self.own = own  # open as long as somebody looks at the screen

    def press(self, keys: str) -> None:
        os.write(self.screen, keys.encode())

    def interrupt(self) -> None:
        """Ctrl-C, once the command sleeps: a signal between what readline shows and its waiting is not seen by it."""
        end = time.monotonic() + PATIENCE
        state = Path(f"/proc/{self.process.pid}/stat")
        while state.read_text().rpartition(")")[2].split()[0] != "S":
            assert time.monotonic() < end, "the command never waits"
            time.sleep(0.01)
        self.press("\x03")

    def wait_for(self, pattern: str) -> str:
        """What was shown until now, when this is the last of it; then it is forgotten."""
        end = time.monotonic() + PATIENCE
        while not re.search(pattern, self.shown):
            assert time.monotonic() < end, self.shown
            if select.select([self.screen], [], [], 1)[0]:
                self.shown += os.read(self.screen, 65536).decode("utf-8", "replace")
        shown, self.shown = self.shown, ""
        return shown

    def leave(self) -> int | None:
        """The code with which the command ends."""
        self.process.join(PATIENCE)
        return self.process.exitcode

    def close(self) -> None:
        self.process.kill()
        self.process.join()
        os.close(self.own)
        os.close(self.screen)


def be_at(name: str, arguments: tuple[str, ...]) -> None:
    """In a new process: be a command whose terminal this is, so that keys such as Ctrl-C go to it."""
    from weft.cli.main import main

    os.setsid()
    terminal = os.open(name, os.O_RDWR)
    fcntl.ioctl(terminal, termios.TIOCSCTTY, 0)
    for number in range(3):
        os.dup2(terminal, number)
    sys.stdin, sys.stdout, sys.stderr = os.fdopen(0), os.fdopen(1, "w"), os.fdopen(2, "w")
    os.environ.update({"TERM": "xterm", "COLUMNS": "80"})
    sys.argv = ["weft", *arguments]
    main()


@pytest.fixture
def terminal(runs: dict[str, Path]) -> Iterator[Terminal]:
    """Where somebody has begun to talk with a model."""
    one = Terminal("translate", runs["bahdanau"], "--interactive")
    one.wait_for(r"Type a sentence[^>]*> $")
    yield one
    one.close()


def test_a_person_types_changes_their_mind_and_leaves(terminal: Terminal) -> None:
    terminal.press("never mind")
    terminal.wait_for("never mind$")
    terminal.interrupt()
    terminal.wait_for("> $")
    terminal.press(f"{SENTENCE}\r")
    first = terminal.wait_for(r"(?s:log-probability.*> $)")
    assert "\x1b[1m" in first  # words are bold
    terminal.press("\x1b[A")
    terminal.wait_for(f"{SENTENCE}$")
    terminal.press("\r")
    again = terminal.wait_for(r"(?s:log-probability.*> $)")
    assert first.endswith(again)
    terminal.press("\x04")
    assert terminal.leave() == 0


def test_nothing_that_was_begun_is_nothing_to_give_up(terminal: Terminal) -> None:
    terminal.interrupt()
    assert terminal.leave() == 130
