"""The page about a run, and the file that holds it."""

from __future__ import annotations

from importlib.metadata import version
from pathlib import Path
from typing import BinaryIO

from weft.markup.elements import element
from weft.report.document import Section, document
from weft.report.run.beginnings import beginnings
from weft.report.run.curves import curves
from weft.report.run.data import data, model
from weft.report.run.diagnosis import diagnosis
from weft.report.run.examples import examples
from weft.report.run.gathering import Gathered, Wish, gather
from weft.report.run.known import Known
from weft.report.run.opening import opening
from weft.report.run.pictures import pictures
from weft.report.run.results import lengths, scores, words
from weft.report.run.settings import settings
from weft.store.files import write_atomically


def report_on_page(known: Known, path: Path, wish: Wish) -> Gathered:
    """Gather, and write the page as a file; a place that cannot be written is told before the work."""
    found: list[Gathered] = []

    def write(file: BinaryIO) -> None:
        found.append(gather(known, wish))
        file.write(page(found[0]).encode())

    write_atomically(path, write)
    return found[0]


def page(gathered: Gathered) -> str:
    """Everything that is known, what it reached first."""
    made = element("footer", f"Written by weft {version('weft')}.")
    return document(
        f"{gathered.known.name}: a training run", ["page.css", "run.css"], opening(gathered), sections(gathered), [made]
    )


def sections(gathered: Gathered) -> list[Section]:
    return [
        diagnosis(gathered),
        scores(gathered),
        curves(gathered),
        *beginnings(gathered),
        *examples(gathered),
        *pictures(gathered),
        *lengths(gathered),
        *words(gathered),
        data(gathered),
        *model(gathered),
        settings(gathered),
    ]
