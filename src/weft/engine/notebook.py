"""A translation as a notebook shows it: HTML that needs nothing else, neither a script nor a network."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from importlib.resources import files
from math import exp, isfinite
from typing import TYPE_CHECKING, NamedTuple

from weft.core.marks import END, NAMES
from weft.engine.wording import counted
from weft.markup.elements import Html, element, join, text
from weft.markup.heat import Line, certainty, heat, percent
from weft.text.pieces import SHOWN_SPACE

if TYPE_CHECKING:
    from weft.engine.sight import Sight
    from weft.engine.translation import Alternative, Translation

LOOKED = "Where each {part} looked, in percent"
ALONE = "How probable each {part} was, in percent"
FORGOTTEN = "Where its words looked is not known: it was put together from parts, or kept without its model."
IMPOSSIBLE = "The model finds no translation possible."


class Part(NamedTuple):
    """A word of the text, or a piece. text: what it adds; sure: its probability, if that is known."""

    name: str
    text: str
    sure: float | None


class Seen(NamedTuple):
    """The parts of a translation, a table about them, the end mark last, and why it does not tell more."""

    parts: Sequence[Part]
    table: Html
    remark: str = ""


def as_html(translation: Translation) -> str:
    """The whole, of which what is not known is left out."""
    seen = _seen(translation)
    style = files("weft.markup").joinpath("notebook.css").read_text("utf-8")
    remarks = [line for line in (_scores(translation), _unmet(translation), seen.remark) if line]
    shown = [
        Html(f"<style>{style}</style>"),
        element("p", translation.source, "weft-source", {"dir": "auto"}),
        element("p", _text(translation.text, seen.parts), "weft-text", {"dir": "auto"}),
        *(element("p", remark, "weft-told") for remark in remarks),
        seen.table,
        *_others(translation.alternatives[1:]),
    ]
    return element("div", join(shown), "weft-translation").source


def _seen(translation: Translation) -> Seen:
    best = translation.alternatives[0]
    if not best.pieces:
        return Seen((), Html(""), "" if best.finished else IMPOSSIBLE)
    return _by_pieces(translation) if translation.sight is None else _by_words(translation.sight, best)


def _by_words(sight: Sight, best: Alternative) -> Seen:
    """What is found by looking at the translation now."""
    words = [
        Part(word.name, word.text, _probability(best.piece_scores[word.first : word.end])) for word in sight.words()
    ]
    parts = [*words, Part(NAMES[END], "", _probability(best.piece_scores[-1:]))]
    blind = sight.blindness()
    if blind:
        return Seen(parts, _alone("word", parts), f"{blind[0].upper()}{blind[1:]}.")
    looks = sight.looks()
    return Seen(parts, _looked("word", parts, looks.source, looks.weights.tolist()))


def _by_pieces(translation: Translation) -> Seen:
    """What the translation itself tells."""
    best, looked = translation.alternatives[0], translation.looked
    scores = [best.piece_scores[place : place + 1] for place in range(len(best.pieces))]
    parts = [Part(_name(piece), "", _probability(score)) for piece, score in zip(best.pieces, scores, strict=True)]
    if looked is None:
        return Seen(parts, _alone("piece", parts), FORGOTTEN)
    return Seen(parts, _looked("piece", parts, [*map(_name, looked.source_pieces)], looked.weights))


def _looked(part: str, parts: Sequence[Part], columns: Sequence[str], weights: Iterable[Sequence[float]]) -> Html:
    lines = [Line(one.name, row, one.sure) for one, row in zip(parts, weights, strict=True)]
    return heat(LOOKED.format(part=part), columns, lines)


def _alone(part: str, parts: Sequence[Part]) -> Html:
    """The same without attention: a single row."""
    values = [one.sure for one in parts if one.sure is not None]
    caption = ALONE.format(part=part)
    return heat(caption, [one.name for one in parts], [Line("probability", values)]) if values else Html("")


def _text(whole: str, parts: Sequence[Part]) -> Html:
    """The text, its words underlined by how probable they were; if it is not just these words, as it is."""
    if "".join(part.text for part in parts) != whole:
        return text(whole)
    return join(_underlined(part) for part in parts if part.text)


def _underlined(part: Part) -> Html:
    if part.sure is None:
        return text(part.text)
    said = {"title": percent(part.sure), "style": f"border-bottom-color: {certainty(part.sure)}"}
    word = part.text.lstrip(" ")
    return join([text(part.text[: len(part.text) - len(word)]), element("span", word, "weft-word", said)])


def _scores(translation: Translation) -> str:
    best = translation.alternatives[0]
    told = []
    if best.pieces and isfinite(best.score):
        told.append(f"log-probability {best.score:.2f}, {best.score / len(best.pieces):.2f} a piece")
    if translation.confidence is not None:
        told.append(f"confidence {percent(translation.confidence)}")
    if best.pieces and not best.finished:
        told.append("ended by the length limit")
    if translation.cut:
        told.append("the source was longer than the model reads, and was cut")
    return " · ".join(told)


def _unmet(translation: Translation) -> str:
    """What was asked for, and is not so."""
    unmet = [f"{one.asked} {' or '.join(one.phrases)}" for one in translation.checked if not one.met]
    return f"Asked for, but not met: {'; '.join(unmet)}" if unmet else ""


def _others(alternatives: Sequence[Alternative]) -> Iterator[Html]:
    """The rest of the n-best list, to be opened."""
    if alternatives:
        items = [element("li", join([text(one.text), element("small", f"{one.score:.2f}")])) for one in alternatives]
        many = element("summary", counted(len(alternatives), "alternative"))
        yield element("details", join([many, element("ol", join(items), attributes={"start": "2"})]))


def _probability(scores: Sequence[float]) -> float | None:
    """Of some pieces together; a score into which other models have a say need not be below 0."""
    return min(1.0, exp(sum(scores))) if scores else None


def _name(piece: str) -> str:
    """A piece without the space before it."""
    return piece.removeprefix(SHOWN_SPACE) or "␣"
