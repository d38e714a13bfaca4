"""A person at a terminal; or a file of lines, answered as if somebody typed them."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import suppress

from rich.console import Console
from rich.text import Text

from weft.engine.output import lines_of
from weft.prompt.answering import answer
from weft.prompt.shown import note
from weft.prompt.state import State
from weft.text.printable import printable

ASK = "> "
WELCOME = "Type a sentence. :help tells what else there is; Ctrl-D leaves."


def talk(state: State) -> None:
    """Until the lines end, or one of them ends it; Ctrl-C at an empty line is a KeyboardInterrupt."""
    console = Console(highlight=False)
    if sys.stdin.isatty() and sys.stdout.isatty():
        console.print(note(WELCOME))
        converse(state, console)
        return
    for line in lines_of(None):
        console.print(Text(printable(f"{ASK}{line}")), soft_wrap=True)
        shown, state = answer(line, state)
        console.print(shown)
        if state.over:
            return


def converse(state: State, console: Console) -> None:
    """Ctrl-C breaks off what is being done, and loses nothing."""
    with suppress(ImportError):  # not every system has it
        import readline  # noqa: F401  (from now on `input` knows its keys, and the lines before)
    for line in typed():
        try:
            shown, state = answer(line, state)
        except KeyboardInterrupt:
            shown = note("broken off")
        console.print(shown)
        if state.over:
            return


def typed() -> Iterator[str]:
    """What a person types, line after line, with the keys and the memory of readline; Ctrl-D ends it.

    Ctrl-C gives up a line that was begun; an empty one has nothing to give up, so it leaves.
    """
    while True:
        try:
            line = input(ASK)
        except EOFError:
            print()
            return
        except KeyboardInterrupt:
            print()
            if not begun():
                raise
            continue
        yield line


def begun() -> str:
    """The line that was being typed; a system without readline cannot tell."""
    with suppress(ImportError):
        import readline

        return readline.get_line_buffer()
    return ""
