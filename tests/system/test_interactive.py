"""`weft translate --interactive` with a pipe and with a terminal."""

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

from system.commands import CONTEXT, TIMEOUT, weft

SENTENCE = "the red cat sees a dog"


def test_piped_lines_are_handled_like_typed_lines(runs: dict[str, Path]) -> None:
    plain = weft("translate", runs["bahdanau"], stdin=f"{SENTENCE}\n".encode()).lines[0]
    lines = [SENTENCE, ":1", ":beam 3", ":attention", "", ":bem", ":quit", "a dog"]
    result = weft("translate", runs["bahdanau"], "--interactive", stdin="".join(f"{line}\n" for line in lines).encode())
    assert (result.code, result.err) == (0, "")
    assert [line for line in result.lines if line.startswith("> ")] == [f"> {line}" for line in lines[:-1]]
    shown = "\n".join(result.lines)
    for text in (*plain.split(), "current", "outputs of the search", "did you mean :beam?", "<end>"):
        assert text in shown
    assert "\x1b" not in shown


def test_command_line_options_apply_to_every_sentence(runs: dict[str, Path]) -> None:
    result = weft(
        "translate", runs["transformer"], "-i", "-v", "--prefix", "un hundo", "--n-best", "2", stdin=b"a cat\n"
    )
    assert (result.code, result.err) == (0, "weft: backend torch: --interactive is set\n")
    assert "chosen up to position 2" in "\n".join(result.lines)
    assert sum(line.count("un hundo") for line in result.lines) == 2


def test_invalid_utf8_is_reported(runs: dict[str, Path]) -> None:
    result = weft("translate", runs["bahdanau"], "-i", stdin=b"caf\xe9\n")
    assert result.code == 2
    assert "standard input, line 1: not UTF-8" in result.err


class Terminal:
    """A command in a pseudo-terminal."""

    def __init__(self, *arguments: str | Path):
        self.screen, own = pty.openpty()
        self.process = CONTEXT.Process(target=run_in_terminal, args=(os.ttyname(own), tuple(map(str, arguments))))
        self.process.start()
        self.shown = ""
        self.own = own  # keeps the terminal open until close()

    def press(self, keys: str) -> None:
        os.write(self.screen, keys.encode())

    def interrupt(self) -> None:
        """Press Ctrl-C once the process sleeps: readline misses a signal between its output and its wait."""
        end = time.monotonic() + TIMEOUT
        state = Path(f"/proc/{self.process.pid}/stat")
        while state.read_text().rpartition(")")[2].split()[0] != "S":
            assert time.monotonic() < end, "the command never sleeps"
            time.sleep(0.01)
        self.press("\x03")

    def wait_for(self, pattern: str) -> str:
        """Wait until the output matches; return the output since the last call."""
        end = time.monotonic() + TIMEOUT
        while not re.search(pattern, self.shown):
            assert time.monotonic() < end, self.shown
            if select.select([self.screen], [], [], 1)[0]:
                self.shown += os.read(self.screen, 65536).decode("utf-8", "replace")
        shown, self.shown = self.shown, ""
        return shown

    def exit_code(self) -> int | None:
        """Wait for the command to end; return its exit code."""
        self.process.join(TIMEOUT)
        return self.process.exitcode

    def close(self) -> None:
        self.process.kill()
        self.process.join()
        os.close(self.own)
        os.close(self.screen)


def run_in_terminal(name: str, arguments: tuple[str, ...]) -> None:
    """In a new process: run a command with this controlling terminal, so that Ctrl-C reaches it."""
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
    """A terminal that shows the first prompt."""
    terminal = Terminal("translate", runs["bahdanau"], "--interactive")
    terminal.wait_for(r"Type a sentence[^>]*> $")
    yield terminal
    terminal.close()


def test_ctrl_c_clears_the_line_and_ctrl_d_exits(terminal: Terminal) -> None:
    terminal.press("never mind")
    terminal.wait_for("never mind$")
    terminal.interrupt()
    terminal.wait_for("> $")
    terminal.press(f"{SENTENCE}\r")
    first = terminal.wait_for(r"(?s:log-probability.*> $)")
    assert "\x1b[1;" in first  # words are bold
    terminal.press("\x1b[A")
    terminal.wait_for(f"{SENTENCE}$")
    terminal.press("\r")
    again = terminal.wait_for(r"(?s:log-probability.*> $)")
    assert first.endswith(again)
    terminal.press("\x04")
    assert terminal.exit_code() == 0


def test_ctrl_c_on_an_empty_line_exits(terminal: Terminal) -> None:
    terminal.interrupt()
    assert terminal.exit_code() == 130
