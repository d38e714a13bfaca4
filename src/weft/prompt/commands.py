"""What a line can say beside a sentence: one table, from which help is made and lines are understood."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from difflib import get_close_matches
from typing import NamedTuple

from rich.table import Table
from rich.text import Text

from weft.config.document import inline
from weft.control.request import Request
from weft.core.errors import UserError
from weft.engine.translation import Translation
from weft.inspect.places import Written, written_of
from weft.prompt.searching import search_of, with_beam, with_other_draws, with_sampling, with_search
from weft.prompt.shown import (
    all_others_shown,
    apart,
    attention_shown,
    indented,
    note,
    others_shown,
    translation_shown,
)
from weft.prompt.state import Answer, State

OTHERS = 8  # at a place, to choose from
SAMPLES = 5


class Command(NamedTuple):
    """name: after the colon; a beginning of it will do. does: takes what stands after the name."""

    name: str
    arguments: str
    told: str
    does: Callable[[State, str], Answer]


def translate(state: State, asked: tuple[Request, ...]) -> Answer:
    """The last of what was asked of a sentence."""
    [translation] = state.translator.translate(asked[-1:])
    after = replace(state, asked=asked, translation=translation)
    return Answer(translation_shown(translation, asked[-1].prefix), after)


def sentence(state: State, line: str) -> Answer:
    """A new one."""
    return translate(state, tuple(state.asking([line])))


def at_place(state: State, number: int, chosen: str) -> Answer:
    """What could stand at a place; or the sentence anew, with what was chosen there."""
    written = written_of(translated(state), OTHERS)
    places = [*written.places, written.end]
    if not 1 <= number <= len(places):
        raise UserError(f"there is no place {number}: the first is 1, the last, where the end stands, {len(places)}")
    place = places[number - 1]
    if not chosen:
        return Answer(others_shown(number, place), state)
    if not is_number(chosen):
        return begin_with(state, spelled(written, number, chosen))
    if not 1 <= int(chosen) <= len(place.others):
        raise UserError(f"there is no {chosen} at place {number}: write :{number} to see what could stand there")
    return begin_with(state, place.others[int(chosen) - 1].prefix)


def spelled(written: Written, number: int, word: str) -> str:
    """The beginning of the translation, with this word at a place."""
    before = "".join(place.text for place in written.places[: number - 1])
    here = written.places[number - 1].text if number <= len(written.places) else " "
    return before + here[: len(here) - len(here.lstrip(" "))] + word


def begin_with(state: State, prefix: str) -> Answer:
    """The same sentence; what was asked before is remembered."""
    translated(state)
    return translate(state, (*state.asked, replace(state.asked[-1], prefix=prefix)))


def undo(state: State, argument: str) -> Answer:
    nothing_after("undo", argument)
    translated(state)
    if len(state.asked) < 2:
        raise UserError("nothing was chosen in this sentence, so there is nothing to undo")
    return translate(state, state.asked[:-1])


def all_words(state: State, argument: str) -> Answer:
    nothing_after("words", argument)
    return Answer(all_others_shown(written_of(translated(state), OTHERS)), state)


def attention(state: State, argument: str) -> Answer:
    nothing_after("attention", argument)
    sight = translated(state).sight
    if sight is None:
        raise UserError("there is no translation whose attention could be shown")
    blind = sight.blindness()
    if blind:
        raise UserError(blind)
    return Answer(attention_shown(sight.looks()), state)


def beam(state: State, argument: str) -> Answer:
    return switched(with_beam(state, count(argument, ":beam 5")))


def sample(state: State, argument: str) -> Answer:
    many, _, temperature = argument.partition(" ")
    drawn = count(many, ":sample 5 0.8") if many else SAMPLES
    return switched(with_sampling(state, drawn, degree(temperature.strip()) if temperature else 1.0))


def again(state: State, argument: str) -> Answer:
    nothing_after("again", argument)
    return switched(with_other_draws(state))


def search(state: State, argument: str) -> Answer:
    if argument:
        return switched(with_search(state, argument))
    return Answer(apart(note(inline(search_of(state.translator)), "")), state)


def switched(state: State) -> Answer:
    """After the search was changed: what it makes of the sentence."""
    return translate(state, state.asked) if state.asked else Answer(note("The next sentence is searched so."), state)


def prefix(state: State, argument: str) -> Answer:
    return begin_with(state, argument)


def leave(state: State, argument: str) -> Answer:
    nothing_after("quit", argument)
    return Answer("", replace(state, over=True))


def help_shown(state: State, argument: str) -> Answer:
    nothing_after("help", argument)
    table = Table(box=None, padding=(0, 2, 0, 0), show_header=False, pad_edge=False)
    rows = [(f":{one.name} {one.arguments}".rstrip(), one.told) for one in COMMANDS]
    for written, told in [*PLAIN_LINES, *rows]:
        table.add_row(Text(written, "bold", no_wrap=True), Text(told))
    return Answer(apart(indented(table), "", note("A beginning of a name will do, as :b 3.")), state)


def translated(state: State) -> Translation:
    """The last translation."""
    if state.translation is None:
        raise UserError("there is no translation yet: type a sentence first")
    return state.translation


def nothing_after(name: str, argument: str) -> None:
    if argument:
        raise UserError(f':{name} takes nothing after it, and there is "{argument}"')


def is_number(text: str) -> bool:
    """Of a place or a size; what has more digits is none."""
    return text.isdecimal() and len(text) < 10


def count(text: str, example: str) -> int:
    if not is_number(text) or int(text) < 1:
        raise UserError(f'should be followed by a number of at least 1, as {example}, found "{text}"')
    return int(text)


def degree(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise UserError(f'a temperature is a number above 0, as in :sample 5 0.8, found "{text}"') from None


def command_named(name: str) -> Command:
    """The command of which this is the name, or the beginning of the name."""
    found = [one for one in COMMANDS if one.name.startswith(name)]
    exact = [one for one in found if one.name == name]
    if len(exact or found) == 1:
        return (exact or found)[0]
    raise UserError(unknown(name, [one.name for one in found]))


def unknown(name: str, begun: Sequence[str]) -> str:
    if begun and name:
        return f":{name} could be {' or '.join(f':{one}' for one in begun)}: write more of it"
    near = get_close_matches(name, [one.name for one in COMMANDS], n=1)
    meant = f"; is it :{near[0]}?" if near else ""
    return f"there is no command :{name}{meant} (:help tells all; a sentence that begins with a colon takes two)"


PLAIN_LINES = (
    ("a sentence", "is translated: each word above its place and probability, then all outputs of the search"),
    (":3", "what could stand at place 3"),
    (":3 2", "take the second of these, and let the rest change"),
    (":3 WORD", "take this word there"),
)
COMMANDS = (
    Command("words", "", "all words, each with others that could stand there", all_words),
    Command("attention", "", "where each word looked in the sentence", attention),
    Command("prefix", "[TEXT]", "let the translation begin so; without a text, as it likes", prefix),
    Command("undo", "", "take the last choice back", undo),
    Command("beam", "N", "search with a beam of this size; 1 is greedy", beam),
    Command("sample", "[N] [TEMPERATURE]", "draw so many outputs at random instead", sample),
    Command("again", "", "draw others", again),
    Command("search", "[SEARCH]", "tell the search, or take another, as {type: diverse, size: 6, groups: 3}", search),
    Command("help", "", "this", help_shown),
    Command("quit", "", "leave; Ctrl-D does too", leave),
)
