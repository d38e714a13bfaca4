"""Scores for people and for programs."""

import json
from collections.abc import Sequence

from weft.metric.score import Score


def render(scores: Sequence[Score]) -> str:
    """A plain table, a line per score: name, value, which way is better, signature; then what was counted."""
    rows = [(score.name, value(score), f"{score.better} is better", score.signature) for score in scores]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = ["  ".join(f"{cell:<{width}}" for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]
    return "\n".join([*lines, *(line for block in counted(scores) for line in ("", *block))])


def value(score: Score) -> str:
    """With half of its interval after ±."""
    return f"{score.value:6.2f}" + ("" if score.interval is None else f" ± {score.interval.half():.2f}")


def counted(scores: Sequence[Score]) -> list[list[str]]:
    """A table for each kind of counts: a row for each score that rests on them."""
    kinds = dict.fromkeys(tuple(name for name, _ in score.counts) for score in scores if score.counts)
    return [
        align([["", *kind], *(_row(score) for score in scores if tuple(name for name, _ in score.counts) == kind)])
        for kind in kinds
    ]


def _row(score: Score) -> list[str]:
    return [score.name, *(f"{number:,.0f}" for _, number in score.counts)]


def align(rows: Sequence[Sequence[str]]) -> list[str]:
    """In columns, two spaces between: the first to the left, the others to the right."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return [
        "  ".join(
            f"{cell:<{width}}" if number == 0 else f"{cell:>{width}}"
            for number, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    ]


def as_json(scores: Sequence[Score]) -> str:
    """A JSON list with an object per score, nothing rounded."""
    return json.dumps([as_record(score) for score in scores], indent=2)


def as_record(score: Score) -> dict[str, object]:
    """An interval and counts only where there are any."""
    interval = {} if score.interval is None else {"interval": score.interval._asdict()}
    counts = {"counts": dict(score.counts)} if score.counts else {}
    return {
        "name": score.name,
        "value": score.value,
        "better": score.better,
        "signature": score.signature,
        **interval,
        **counts,
    }
