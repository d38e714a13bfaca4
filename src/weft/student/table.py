"""Teacher and student side by side, for people and for programs."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from statistics import median
from typing import Any

from weft.engine.wording import counted
from weft.metric.render import align, as_record, value
from weft.student.comparing import Measured, ratios


def render(measured: Sequence[Measured], lines: str, threads: int) -> str:
    """A row for each system; the first one is what the others are compared with."""
    first = measured[0]
    names = [score.name for score in first.scores]
    heading = ["", "search", "engine", *names, "lines/s", "tokens/s", "ms a line", "MB", "times as fast"]
    rows = [
        [
            one.system.model,
            one.system.search,
            one.system.engine,
            *(value(score).strip() for score in one.scores),
            f"{one.lines_a_second:,.0f}",
            f"{one.tokens_a_second:,.0f}",
            f"{1000 / one.lines_a_second:.2f}",
            f"{one.system.size / 1e6:.1f}",
            spread(ratios(one, first)),
        ]
        for one in measured
    ]
    rounds = f"{len(first.seconds)} rounds in turns, medians (least to most)"
    how = f"{first.lines:,} lines of {lines}; {counted(threads, 'thread')}; {rounds}"
    return "\n".join([*align([heading, *rows]), "", how, *same_search(measured)])


def same_search(measured: Sequence[Measured]) -> Iterator[str]:
    """What the student gains where both search in the same way."""
    teachers = {one.system.search: one for one in measured if one.system.model == "teacher"}
    for one in measured:
        other = teachers.get(one.system.search)
        if one.system.model == "student" and other is not None:
            yield f"both with {one.system.search}: the student is {spread(ratios(one, other))} times as fast"


def spread(numbers: Sequence[float]) -> str:
    return f"{median(numbers):.2f} ({min(numbers):.2f} to {max(numbers):.2f})"


def as_json(measured: Sequence[Measured], lines: str, threads: int) -> str:
    rows: list[dict[str, Any]] = [
        {
            "model": one.system.model,
            "search": one.system.search,
            "engine": one.system.engine,
            "weights_bytes": one.system.size,
            "tokens": one.tokens,
            "seconds": one.seconds,
            "times_the_first": median(ratios(one, measured[0])),
            "scores": [as_record(score) for score in one.scores],
        }
        for one in measured
    ]
    return json.dumps({"lines": lines, "count": measured[0].lines, "threads": threads, "systems": rows}, indent=2)
