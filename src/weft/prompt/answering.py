"""From a line that a person has typed to what they see: a function, so that no terminal is needed to try it."""

from __future__ import annotations

from rich.text import Text

from weft.core.errors import UserError
from weft.prompt.commands import at_place, command_named, is_number, sentence
from weft.prompt.shown import apart, indented
from weft.prompt.state import Answer, State
from weft.text.printable import printable

SIGN = ":"


def answer(line: str, state: State) -> Answer:
    """What to show and the state after the line; of a mistake, what is wrong, and the state as it was."""
    try:
        return understood(line, state)
    except UserError as error:
        lines = str(error).removeprefix("line 1: ").split("\n")
        return Answer(apart(*(indented(Text(printable(line), "red")) for line in lines)), state)


def understood(line: str, state: State) -> Answer:
    """A line with two signs before it is a sentence with one."""
    if not line.strip():
        return Answer("", state)
    if not line.startswith(SIGN) or line.startswith(2 * SIGN):
        return sentence(state, line.removeprefix(SIGN))
    name, _, argument = line.removeprefix(SIGN).strip().partition(" ")
    argument = argument.strip()
    return at_place(state, int(name), argument) if is_number(name) else command_named(name).does(state, argument)
