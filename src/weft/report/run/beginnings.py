"""Where the run came from, in tables: before and after fine-tuning, teacher and student."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from statistics import median

from weft.markup.elements import Html, element, table
from weft.report.document import Section
from weft.report.run.gathering import Gathered
from weft.report.run.opening import note
from weft.report.run.origin import Taught, Tuned
from weft.tuning.recipe import counted_pairs
from weft.tuning.table import row


def beginnings(gathered: Gathered) -> Iterator[Section]:
    origin = gathered.origin
    if origin.tuned is not None:
        yield Section("Before and after", "Before and after", list(_tuned(origin.tuned)))
    if origin.taught is not None:
        yield Section("Teacher", "Teacher and student", [_taught(origin.taught), note(_how(origin.taught))])


def _tuned(tuned: Tuned) -> Iterator[Html]:
    yield note(
        f"Mixed in: {counted_pairs(tuned.mix)} for every new one." if tuned.mix else "No old pairs were mixed in."
    )
    for name, after in tuned.after.items():
        rows = [row(asdict(old), asdict(new)) for old, new in zip(tuned.before.get(name, ()), after, strict=False)]
        yield element("h3", {"new": "On the new data", "home": "At home, on the old data"}.get(name, name))
        yield table(["", "before", "after", "change", ""], rows)


def _taught(taught: Taught) -> Html:
    names = [score.name for score in taught.systems[0].scores] if taught.systems else []
    heads = ["", "search", "engine", *names, "lines/s", "MB", "times as fast"]
    rows = [
        [
            one.model,
            one.search,
            one.engine,
            *(f"{score.value:.2f}" for score in one.scores),
            f"{taught.count / median(one.seconds):,.0f}",
            f"{one.weights_bytes / 1e6:.1f}",
            f"{one.times_the_first:.2f}",
        ]
        for one in taught.systems
    ]
    return table(heads, rows)


def _how(taught: Taught) -> str:
    threads = "1 thread" if taught.threads == 1 else f"{taught.threads} threads"
    return f"{taught.count:,} lines of {taught.lines}; {threads}; speeds are medians of rounds in turns."
