"""The figures of several rounds, as a table and as JSON."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias

from benchmarks.peers.tasks import Figures
from benchmarks.spreads import between, spread


class Turn(NamedTuple):
    """One run of one toolkit."""

    figures: Figures
    peak: float | None  # MiB


Rounds: TypeAlias = dict[str, list[Turn]]  # the turns of each toolkit, a turn a round

HEADER = "          parameters   target tokens/s (min - max)    loss  peak MiB      ratio (min - max)"


def make_report(rounds: Rounds, ours: str) -> dict[str, Any]:
    """The medians of each toolkit; the ratio is our speed over the toolkit's, within each round."""
    report = {name: summary(turns) for name, turns in rounds.items()}
    for name, turns in rounds.items():
        if name != ours:
            pairs = zip(rounds[ours], turns, strict=True)
            report[name]["ratio"] = spread([speed(one) / speed(other) for one, other in pairs])
    return report


def summary(turns: Sequence[Turn]) -> dict[str, Any]:
    peaks = [turn.peak for turn in turns if turn.peak is not None]
    return {
        "parameters": turns[0].figures.parameters,
        "tokens_per_second": spread([speed(turn) for turn in turns]),
        "loss": turns[-1].figures.loss,
        "peak_memory_mib": max(peaks, default=None),
        "ratio": None,
    }


def speed(turn: Turn) -> float:
    return turn.figures.tokens_per_second


def render(heading: Sequence[str], report: Mapping[str, Any], ours: str) -> str:
    """The report as a plain table under some lines that say what was measured."""
    rows = [row(name, figures) for name, figures in report.items()]
    told = f"ratio: {ours}'s speed over the toolkit's, the median over the rounds"
    return "\n".join([*heading, "", HEADER, *rows, "", told])


def row(name: str, figures: Mapping[str, Any]) -> str:
    peak = figures["peak_memory_mib"]
    memory = "-" if peak is None else f"{peak:,.0f}"
    shown = between(figures["tokens_per_second"], ",.0f")
    ratio = "-" if figures["ratio"] is None else between(figures["ratio"], ".2f")
    return f"{name:<8}{figures['parameters']:>12,}{shown:>30}{figures['loss']:>8.2f}{memory:>10}{ratio:>23}"
