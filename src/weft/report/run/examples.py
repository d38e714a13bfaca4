"""Sentences: the worst, the middle and the best; the same ones over time; what a language model expected."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from math import log
from typing import Any

from weft.core.errors import UserError
from weft.engine.scoring import Scored
from weft.markup.elements import Html, element, join, text
from weft.metric.lines import DEFAULTS
from weft.report.differences import marked
from weft.report.document import Section
from weft.report.ink import png
from weft.report.run.foreseen import Foreseen
from weft.report.run.gathering import Gathered
from weft.report.run.measured import Measured
from weft.report.run.opening import note
from weft.report.sentences import best, entry, how_to_read, middle, shown, worst
from weft.store.model_folder import Trained
from weft.text.pieces import SHOWN_SPACE

MOMENTS = 6  # of a sentence over time
SURPRISE = 8.0  # bits, which are shown darkest


def examples(gathered: Gathered) -> Iterator[Section]:
    if gathered.measured is not None:
        yield Section("Examples", "Examples", _sentences(gathered.measured, gathered))
    if gathered.foreseen is not None:
        yield Section("Examples", "Examples", _foreseen(gathered.foreseen, gathered.wish.sentences))
    told = over_time(gathered)
    if told:
        way = "The first sentences of the validation data, as they were translated in the course of training."
        yield Section("Over time", "The same sentences over time", [note(way), *told])


def sources_shown(trained: Trained | None) -> Callable[[str], Html]:
    """How what was read is shown: a line as it is, and of a picture's name the picture, as the model sees it."""
    if trained is None or trained.source_tokenizer.reads == "text":
        return text
    reader = trained.source_tokenizer

    def picture(name: str) -> Html:
        try:
            [columns] = reader.encode_rows([name]).split()
        except UserError:
            return text(name)
        return element("img", "", "scan", {"src": png(columns.T), "alt": f"picture: {name}"})

    return picture


def _sentences(measured: Measured, gathered: Gathered) -> list[Html]:
    source, most = sources_shown(gathered.trained), gathered.wish.sentences
    content = [how_to_read(measured.sentences)]
    for heading, choose in (("Worst", worst), ("Middle", middle), ("Best", best)):
        lines = choose(measured.sentences, most)
        content += [element("h3", heading), shown(measured.comparison, measured.sentences, lines, source)]
    return content


def over_time(gathered: Gathered) -> list[Html]:
    """What validations wrote into the log, at a few steps between the first and the last."""
    found = [one for one in gathered.known.history.validations if isinstance(one.get("examples"), list)]
    chosen = spread(found, MOMENTS)
    source = sources_shown(gathered.trained)
    rows = zip(*(one["examples"] for one in chosen), strict=False)
    items = [_through(list(row), [one["step"] for one in chosen], source) for row in rows]
    return [element("ol", join(element("li", item) for item in items), "sentences")] if items else []


def spread(items: Sequence[Any], most: int) -> list[Any]:
    """So many of them, the first and the last among them, equally far apart."""
    if len(items) <= most:
        return list(items)
    return [items[round(number * (len(items) - 1) / (most - 1))] for number in range(most)]


def _through(row: Sequence[Mapping[str, str]], steps: Sequence[int], source: Callable[[str], Html]) -> Html:
    first = row[0]
    given = [entry(text("source"), source(first["source"])), entry(text("reference"), text(first["target"]))]
    made = (
        entry(element("span", f"step {step:,}", "step"), marked(one["output"], [one["target"]], DEFAULTS))
        for step, one in zip(steps, row, strict=True)
    )
    return element("dl", join([*given, *made]))


def _foreseen(foreseen: Foreseen, most: int) -> list[Html]:
    """Lines that were foreseen least and most, and how beginnings go on."""
    order = sorted(foreseen.lines, key=lambda one: -one.perplexity)
    told = "Each piece is shaded by its surprise, in bits: the stronger the colour, the less it was foreseen."
    content = [note(told)]
    for heading, lines in (("Foreseen least", order[:most]), ("Foreseen most", order[::-1][:most])):
        items = (element("li", _surprise(one)) for one in lines)
        content += [element("h3", heading), element("ol", join(items), "sentences")]
    if foreseen.completions:
        drawn = "The first words of some lines, and how the model goes on: drawn at random, with the seed 1."
        items = (element("li", _completed(*one)) for one in foreseen.completions)
        content += [element("h3", "Completions"), note(drawn), element("ol", join(items), "sentences")]
    return content


def _surprise(one: Scored) -> Html:
    pieces = (_piece(*pair) for pair in zip(one.pieces, one.piece_scores, strict=True))
    perplexity = element("p", f"perplexity {one.perplexity:,.1f}", "line")
    return join([perplexity, element("p", join(pieces), "surprises")])


def _piece(piece: str, score: float) -> Html:
    bits = -score / log(2)
    attributes = {"style": f"--share: {min(1.0, bits / SURPRISE):.2f}", "title": f"{bits:.1f} bits"}
    before = " " if piece.startswith(SHOWN_SPACE) else ""
    shown = piece.replace(SHOWN_SPACE, " ").strip() or SHOWN_SPACE
    return join([text(before), element("span", shown, "surprise", attributes)])


def _completed(prompt: str, line: str) -> Html:
    rest = line.removeprefix(prompt)
    return element("p", join([element("b", prompt), text(rest)]) if rest != line else text(line), "surprises")
