"""One page about systems and their outputs."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import BinaryIO

from weft.markup.elements import Html, element, join, text
from weft.metric.compare import Comparison, Sentences
from weft.report.bars import bars
from weft.report.document import Section, document
from weft.report.sentences import best, gained, how_to_read, lost, marks, shown, worst
from weft.report.tables import confusions, edits, scores, signatures
from weft.store.files import write_atomically


def compare_on_page(compare: Callable[[], Comparison], path: Path, by: str, most: int) -> Comparison:
    """Compare, and write the page as a file; a place that cannot be written is told before the work."""
    found: list[Comparison] = []

    def write(file: BinaryIO) -> None:
        found.append(compare())
        file.write(page(found[0], by, most).encode())

    write_atomically(path, write)
    return found[0]


def page(comparison: Comparison, by: str, most: int) -> str:
    """What is said of all lines, then `most` sentences of each kind, chosen `by` a metric of single ones."""
    names = ", ".join(comparison.names())
    sentences = comparison.sentences(by)
    sections = [*_of_all(comparison), *_differing(comparison, sentences, most), *_extremes(comparison, sentences, most)]
    return document(f"Comparison: {names}", ["page.css"], _opening(comparison), sections)


def _opening(comparison: Comparison) -> list[Html]:
    lines, systems = len(comparison.material.references), len(comparison.names())
    count = "1 system" if systems == 1 else f"{systems} systems"
    return [
        element("h1", ", ".join(comparison.names())),
        element("p", f"{count} on {lines:,} {'line' if lines == 1 else 'lines'}. {comparison.told()}.", "note"),
    ]


def _of_all(comparison: Comparison) -> list[Section]:
    names = comparison.names()
    found = element("p", "F-score of the words of each class, in any order.", "note")
    return [
        Section("Scores", "Scores", [scores(comparison), signatures(comparison)]),
        Section("Length", comparison.length_title(), [bars(comparison.lengths, names, "lines")]),
        Section("Frequency", comparison.frequency_title(), [found, bars(comparison.frequencies, names, "words")]),
        Section(
            "Changed words",
            "Words that were changed",
            [
                edits(comparison),
                element("p", join([text("The commonest of them, and how often: "), *marks()]), "note"),
                confusions(comparison),
            ],
        ),
    ]


def _differing(comparison: Comparison, sentences: Sentences, most: int) -> list[Section]:
    """Each system beside the first one, in both directions."""
    first, *others = comparison.names()
    content = [how_to_read(sentences)]
    for number, name in enumerate(others, start=1):
        content += [
            element("h3", f"{name} better than {first}"),
            shown(comparison, sentences, gained(sentences, number, most)),
            element("h3", f"{name} worse than {first}"),
            shown(comparison, sentences, lost(sentences, number, most)),
        ]
    return [Section("Differences", "Where systems differ most", content)] if others else []


def _extremes(comparison: Comparison, sentences: Sentences, most: int) -> list[Section]:
    of = "" if len(comparison.names()) == 1 else ", in the mean of the systems"
    below, above = (shown(comparison, sentences, lines(sentences, most)) for lines in (worst, best))
    return [
        Section("Worst", f"Worst sentences{of}", [how_to_read(sentences), below]),
        Section("Best", f"Best sentences{of}", [how_to_read(sentences), above]),
    ]
