"""What is seen inside a model while it translates a few sentences."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, NamedTuple

from weft.core.errors import UserError
from weft.engine.translator import Translator
from weft.inspect.attention import align
from weft.inspect.columns import Seen
from weft.inspect.frames import look
from weft.inspect.grid import Grid
from weft.inspect.heads import Heads, heads_of
from weft.text.words import Span


class View(NamedTuple):
    """A sentence, what became of it, and the picture. spans: names below a picture that was read."""

    source: str
    output: str
    grid: Grid
    seen: Seen | None
    spans: Sequence[Span] = ()


class Inside(NamedTuple):
    """kind: what is seen. heads: all of them, for the first sentence, where there are several. why: nothing is seen."""

    kind: Literal["attention", "frames"]
    views: list[View]
    heads: Heads | None = None
    why: str = ""


def look_inside(translator: Translator, lines: Sequence[str]) -> Inside:
    """Where a decoder looks, or what frames say; a model without either is told for what it is."""
    kind: Literal["attention", "frames"] = "attention" if translator.trained.model.has_decoder else "frames"
    if not lines:
        return Inside(kind, [], why="there are no lines to look at")
    try:
        if kind == "frames":
            return Inside(kind, [frames(translator, line) for line in lines])
        return Inside(kind, [attention(translator, line) for line in lines], several_heads(translator, lines[0]))
    except UserError as error:
        return Inside(kind, [], why=str(error))


def attention(translator: Translator, line: str) -> View:
    found = align(translator, line)
    return View(line, found.translation, found.grid(), found.seen)


def frames(translator: Translator, line: str) -> View:
    found = look(translator, line)
    return View(line, found.text, found.grid(), found.seen, found.spans)


def several_heads(translator: Translator, line: str) -> Heads | None:
    """Every head of every layer, where text is read and there is more than one."""
    if translator.trained.source_tokenizer.reads == "pictures":
        return None
    found = heads_of(translator, line)
    return found if sum(map(len, found.layers)) > 1 else None
