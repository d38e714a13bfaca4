"""An output beside its reference, with what differs marked: by colour, by line and by what a pointer shows."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import groupby
from typing import NamedTuple

from weft.markup.elements import Html, element, join, text
from weft.metric.distance import Kind, align
from weft.metric.edits import nearest
from weft.metric.lines import Options
from weft.metric.sacre import words


class Word(NamedTuple):
    """A word as it stands in a line, and whether there is a space before it."""

    text: str
    spaced: bool


class Change(NamedTuple):
    """What is to be seen of an edit: the word of the output or, if it is missing there, of the reference."""

    kind: Kind
    word: Word
    instead_of: str = ""  # what stands in the reference, of a substitute


def marked(output: str, references: Sequence[str], options: Options) -> Html:
    """The words of the output beside those of the nearest reference: words, and what is equal, as the options say."""
    found = changes(output, references, options)
    if not found:
        return element("span", "(empty)", "none")
    return join(_run(kind, list(run)) for kind, run in groupby(found, key=lambda change: change.kind))


def changes(output: str, references: Sequence[str], options: Options) -> list[Change]:
    """How the nearest reference becomes the output."""
    split, fold = words(options), str.lower if options.lowercase else str

    def units(line: str) -> list[str]:
        return [fold(word) for word in split(line)]

    reference = nearest(output, references, units)
    wanted, written = _spaced(reference, split), _spaced(output, split)
    return [_change(edit.kind, wanted, written) for edit in align(units(reference), units(output))]


def _change(kind: Kind, wanted: Iterator[Word], written: Iterator[Word]) -> Change:
    """The next words of the two lines, as the edit is about the one, the other or both."""
    match kind:
        case "delete":
            return Change(kind, next(wanted))
        case "insert":
            return Change(kind, next(written))
        case "keep" | "substitute":
            return Change(kind, next(written), next(wanted).text)


def _spaced(line: str, split: Callable[[str], list[str]]) -> Iterator[Word]:
    """The words of a line; before one that the tokenizer has changed there is a space."""
    end = 0
    for word in split(line):
        start = line.find(word, end)
        yield Word(word, start != end)
        end = start + len(word) if start >= 0 else end


def _run(kind: Kind, run: Sequence[Change]) -> Html:
    """Edits of one kind that follow each other; what was added or is missing is marked as a whole."""
    match kind:
        case "keep":
            return join(part for change in run for part in (_gap(change), text(change.word.text)))
        case "insert":
            return _together("ins", run, "not in the reference")
        case "delete":
            return _together("del", run, "missing: stands in the reference")
        case "substitute":
            return join(part for change in run for part in (_gap(change), _instead(change)))


def _together(name: str, run: Sequence[Change], title: str) -> Html:
    first, *others = run
    inner = join([text(first.word.text), _run("keep", others)])
    return join([_gap(first), element(name, inner, attributes={"title": title})])


def _instead(change: Change) -> Html:
    inner = join([text(change.word.text), element("small", change.instead_of)])
    return element("mark", inner, attributes={"title": f"instead of {change.instead_of}"})


def _gap(change: Change) -> Html:
    return text(" " if change.word.spaced else "")
