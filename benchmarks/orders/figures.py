"""The figures as tables of Markdown, and as JSON."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import median
from typing import Any, TypeAlias

from benchmarks.orders.fitting import REGIONS, fit_regions
from benchmarks.orders.kinds import Kind, Powers
from benchmarks.orders.timing import Size, Times
from benchmarks.page import table

Medians: TypeAlias = dict[str, dict[Size, float]]  # seconds of a batch, for each kind


def medians(times: Times) -> Medians:
    found: Medians = {}
    for turn, seconds in times.items():
        found.setdefault(turn.kind, {})[turn.size] = median(seconds)
    return found


def orders_table(kinds: Sequence[Kind], found: Medians) -> str:
    """What was published of each kind beside the powers that were measured."""
    header = ["layer", "published", "sequential", "path", *(f"measured, {region}" for region in REGIONS)]
    return table(
        header,
        [
            [kind.name, kind.order, kind.sequential, kind.path, *map(shown, fit_regions(found[kind.name]).values())]
            for kind in kinds
        ],
    )


def shown(powers: Powers | None) -> str:
    return "" if powers is None else f"n^{powers.length:.2f} d^{powers.width:.2f}"


def times_table(found: Medians, width: int) -> str:
    """Milliseconds of a batch at one width."""
    lengths = sorted({size.length for sizes in found.values() for size in sizes})
    return table(
        [f"d = {width}, n =", *map(str, lengths)],
        [[name, *(milliseconds(sizes[Size(length, width)]) for length in lengths)] for name, sizes in found.items()],
    )


def milliseconds(seconds: float) -> str:
    """Three digits, or all that stand before the point."""
    number = 1000 * seconds
    return f"{number:,.0f}" if number >= 100 else f"{number:.3g}"


def heading(facts: Mapping[str, Any]) -> str:
    return (
        "{cpu}, cores: {cores}, threads: {threads}, torch {torch}. "
        "Time of a {what}, sequences in a batch: {batch}, median of rounds: {rounds}.\n".format(**facts)
    )


def markdown(kinds: Sequence[Kind], found: Medians, facts: Mapping[str, Any]) -> str:
    """All that a page shows of the figures, times at the least and the greatest width."""
    widths = sorted({size.width for sizes in found.values() for size in sizes})
    tables = [orders_table(kinds, found), *(times_table(found, width) for width in (widths[0], widths[-1]))]
    return "\n".join([heading(facts), tables[0], "Milliseconds:\n", *tables[1:]])


def as_json(times: Times, found: Medians, facts: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "setting": facts,
        "powers": {
            name: {region: powers and powers._asdict() for region, powers in fit_regions(sizes).items()}
            for name, sizes in found.items()
        },
        "seconds": [
            {"layer": turn.kind, **turn.size._asdict(), "median": median(seconds), "rounds": seconds}
            for turn, seconds in times.items()
        ],
    }
