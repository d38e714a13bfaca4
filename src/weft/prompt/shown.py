"""What a person is shown: a translation word by word, the outputs beside it, what else could stand at a place."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher
from itertools import accumulate
from math import exp, isfinite

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from weft.core.marks import END, NAMES
from weft.engine.sight import Looks, Sight
from weft.engine.translation import Alternative, Translation
from weft.inspect.places import Place, Written
from weft.prompt.layout import INDENT, LEAST, Flow, Weights, bar, certainty, piece_name, probability, short
from weft.text.pieces import SHOWN_SPACE
from weft.text.printable import printable

BESIDE = 3  # others of each word, where all words are shown


def translation_shown(translation: Translation, prefix: str) -> RenderableType:
    """A translation; prefix: how it was to begin."""
    outputs = translation.alternatives
    if translation.sight is None:
        return apart(note("The model finds no translation possible."))
    told = " · ".join(remarks(translation, prefix))
    listed = ["", list_of(outputs)] if len(outputs) > 1 else []
    return apart(words_of(translation.sight, outputs[0]), note(told), *listed)


def words_of(sight: Sight, best: Alternative) -> Flow:
    """The words of the text, each above its number and its probability; the end has a place too."""
    words = [(word.name, chance(best.piece_scores[word.first : word.end])) for word in sight.words()]
    ends = [(NAMES[END], chance(best.piece_scores[-1:]))]
    return Flow(
        (Text(short(name), "dim" if name in NAMES else f"bold {certainty(sure)}"), numbered(number, sure))
        for number, (name, sure) in enumerate([*words, *ends], 1)
    )


def remarks(translation: Translation, prefix: str) -> Iterator[str]:
    """What else there is to know."""
    best = translation.alternatives[0]
    if isfinite(best.score):
        yield f"log-probability {best.score:.2f}, {best.score / len(best.pieces):.2f} a piece"
    if translation.confidence is not None:
        yield f"confidence {100 * translation.confidence:.0f}%"
    if prefix and translation.sight is not None:
        ends = accumulate(len(word.text) for word in translation.sight.words())
        yield f"as chosen up to place {1 + sum(end < len(prefix) for end in ends)}"
    if not best.finished:
        yield "ended by the length limit"
    if translation.cut:
        yield "the sentence was longer than the model reads, and was cut"
    yield from (f"lacks {' or '.join(one.phrases)}" for one in translation.checked if not one.met)


def list_of(outputs: Sequence[Alternative]) -> RenderableType:
    """All outputs of the search, with what they were compared by; what is not in the first is underlined."""
    compared = any(one.ranked_by not in (None, one.score) for one in outputs)
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="dim", pad_edge=False)
    for head in ["", *["compared by"] * compared, "log p"]:
        table.add_column(head, justify="right", no_wrap=True)
    table.add_column("outputs of the search")
    for number, one in enumerate(outputs, 1):
        ranks = [f"{one.ranked_by:.3f}"] if compared else []
        told = different(printable(outputs[0].text), printable(one.text))
        table.add_row(Text(f"{number}", "dim"), *ranks, f"{one.score:.2f}", told)
    return indented(table)


def different(one: str, other: str) -> Text:
    """The other text, with those of its words underlined that the first has not there."""
    first, second = one.split(" "), other.split(" ")
    line = Text()
    for kind, _, _, begin, end in SequenceMatcher(None, first, second, autojunk=False).get_opcodes():
        for word in second[begin:end]:
            line.append(" " if line else "").append(word, "" if kind == "equal" else "underline")
    return line


def others_shown(number: int, place: Place) -> RenderableType:
    """What could stand at a place, to choose from."""
    table = Table(box=None, padding=(0, 2, 0, 0), show_header=False, pad_edge=False)
    for justify in ("right", "left", "right", "left"):
        table.add_column(justify=justify)
    for row, other in enumerate(place.others, 1):
        sure = exp(other.score)
        here = " as it is" if other.piece == said(place) else ""
        name = Text(piece_name(other.piece))  # a plain string could be read as markup
        table.add_row(f"{row}", name, f"{100 * sure:.1f}%", Text(bar(sure) + here, "dim"))
    title = note(f'{number} {short(place.name)}: the likeliest pieces; ":{number} 2" takes the second')
    return apart(title, indented(table) if place.others else note("none that could be asked for"))


def all_others_shown(written: Written) -> RenderableType:
    """Every word with some that could stand there instead."""
    table = Table(box=None, padding=(0, 2, 0, 0), show_header=False, pad_edge=False)
    for justify in ("right", "left", "right"):
        table.add_column(justify=justify, no_wrap=True)
    table.add_column(no_wrap=True, overflow="ellipsis")
    for number, place in enumerate([*written.places, written.end], 1):
        sure = chance(place.scores)
        table.add_row(Text(f"{number}", "dim"), Text(short(place.name), "bold"), probability(sure), instead(place))
    return apart(indented(table))


def instead(place: Place) -> Text:
    """The likeliest others of a place, in a line, as far as they are worth a word."""
    others = [one for one in place.others if one.piece != said(place) and exp(one.score) >= LEAST][:BESIDE]
    return Text("  ").join(
        Text(f"{piece_name(other.piece)} ").append(f"{100 * exp(other.score):.0f}%", "dim") for other in others
    )


def said(place: Place) -> str:
    """The piece that stands there: the first that is no mere space."""
    return next((piece for piece in place.pieces if piece != SHOWN_SPACE), SHOWN_SPACE)


def attention_shown(looks: Looks) -> RenderableType:
    """Where each word looked: a row for each of the translation, a column for each of the sentence."""
    told = "Where each word of the translation (a row) looked in the sentence, in percent."
    return apart(note(told), Weights(looks.target, looks.source, looks.weights.tolist()))


def numbered(number: int, sure: float) -> Text:
    return Text.assemble((f"{number} ", "dim"), probability(sure))


def chance(scores: Sequence[float]) -> float:
    """The probability of pieces together; a score into which other models have a say need not be below 0."""
    return min(1.0, exp(sum(scores)))


def note(text: str, style: str = "dim") -> RenderableType:
    return indented(Text(printable(text), style))


def indented(shown: RenderableType) -> RenderableType:
    return Padding(shown, (0, 0, 0, INDENT))


def apart(*parts: RenderableType) -> RenderableType:
    """The parts, with a blank line before and after them."""
    return Group("", *parts, "")
