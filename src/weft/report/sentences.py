"""Which sentences a page shows, and how: the source, the references, and each system's output beside them."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import numpy as np

from weft.markup.elements import Html, element, join, text
from weft.metric.compare import Comparison, Sentences
from weft.metric.counts import Numbers
from weft.report.bars import key
from weft.report.differences import marked


def worst(sentences: Sentences, most: int) -> list[int]:
    """The lines with the lowest mean over the systems, the worst first."""
    return _first(sentences.goodness().mean(0), most)


def best(sentences: Sentences, most: int) -> list[int]:
    """The lines with the highest."""
    return _first(-sentences.goodness().mean(0), most)


def middle(sentences: Sentences, most: int) -> list[int]:
    """Those that are nearest to the median, the lower ones first: what a reader can expect."""
    goodness = sentences.goodness().mean(0)
    nearest = _first(np.abs(goodness - np.median(goodness)), most)
    return sorted(nearest, key=lambda line: float(goodness[line]))


def gained(sentences: Sentences, system: int, most: int) -> list[int]:
    """Where a system is better than the first, by how much."""
    return _where_positive(sentences.goodness()[system] - sentences.goodness()[0], most)


def lost(sentences: Sentences, system: int, most: int) -> list[int]:
    """Where it is worse."""
    return _where_positive(sentences.goodness()[0] - sentences.goodness()[system], most)


def shown(
    comparison: Comparison, sentences: Sentences, lines: Iterable[int], source: Callable[[str], Html] = text
) -> Html:
    """A list of sentences; of none, a word about that. source: how what was read is shown."""
    items = [element("li", _sentence(comparison, sentences, line, source)) for line in lines]
    return element("ol", join(items), "sentences") if items else element("p", "There are none.")


def how_to_read(sentences: Sentences) -> Html:
    way = "the higher, the better" if sentences.better == "higher" else "the lower, the better"
    told = f"Beside each output stands its {sentences.metric} ({way}), by which sentences are chosen. "
    return element("p", join([text(told), *marks()]), "note")


def marks() -> list[Html]:
    """What the colours mean."""
    return [
        element("ins", "added"),
        text(" is not in the reference, "),
        element("del", "missing"),
        text(" should be there, "),
        element("mark", join([text("written"), element("small", "wanted")])),
        text(" stands for another word."),
    ]


def _first(order: Numbers, most: int) -> list[int]:
    """The lines with the smallest numbers; of equals the first."""
    return [int(line) for line in np.argsort(order, kind="stable")[:most]]


def _where_positive(difference: Numbers, most: int) -> list[int]:
    return [line for line in _first(-difference, most) if difference[line] > 0]


def _sentence(comparison: Comparison, sentences: Sentences, line: int, source: Callable[[str], Html]) -> Html:
    material, options = comparison.material, comparison.settings.options
    given = [] if material.sources is None else [entry(text("source"), source(material.sources[line]))]
    references = [entry(text("reference"), text(reference)) for reference in material.references[line]]
    outputs = [
        entry(
            join([key(number, system.name), element("span", f"{score:.1f}", "score")], " "),
            marked(system.outputs[line], material.references[line], options),
        )
        for number, (system, score) in enumerate(zip(material.systems, sentences.scores[:, line], strict=True))
    ]
    return join([element("p", f"Line {line + 1:,}", "line"), element("dl", join([*given, *references, *outputs]))])


def entry(name: Html, content: Html) -> Html:
    """A line of a sentence, after what it is."""
    return element("div", join([element("dt", name), element("dd", content)]))
