"""Summary of all rounds: tokens per second, ratio of speeds, and number of equal outputs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias

from benchmarks.markdown import table
from benchmarks.summary_statistics import format_range, summarize


class Turn(NamedTuple):
    """One engine with one batching: speed, peak memory in MiB, number of expected outputs."""

    tokens_per_second: float
    peak: float | None
    same: int


Place: TypeAlias = tuple[str, str]  # an engine's label, a batching
Rounds: TypeAlias = Mapping[Place, Sequence[Turn]]  # a turn a round
Report: TypeAlias = dict[str, dict[str, Any]]  # by label, then by batching


def same_outputs(found: Sequence[Sequence[int]], expected: Sequence[Sequence[int]]) -> int:
    """Count the outputs that agree in every token."""
    return sum(list(output) == list(reference) for output, reference in zip(found, expected, strict=True))


def make_report(rounds: Rounds, ours: str) -> Report:
    """Summarize the rounds; ratio is Weft's speed over the engine's at the same batching, within each round."""
    report: Report = {}
    for (label, batching), turns in rounds.items():
        report.setdefault(label, {})[batching] = summary(turns, None if label == ours else rounds[ours, batching])
    return report


def summary(turns: Sequence[Turn], ours: Sequence[Turn] | None) -> dict[str, Any]:
    peaks = [turn.peak for turn in turns if turn.peak is not None]
    return {
        "tokens_per_second": summarize([turn.tokens_per_second for turn in turns]),
        "peak_memory_mib": max(peaks, default=None),
        "same_outputs": min(turn.same for turn in turns),
        "ratio": None if ours is None else summarize(ratios(ours, turns)),
    }


def ratios(ours: Sequence[Turn], turns: Sequence[Turn]) -> list[float]:
    pairs = zip(ours, turns, strict=True)
    return [our.tokens_per_second / turn.tokens_per_second for our, turn in pairs]


def fastest(report: Report, names: Mapping[str, str]) -> Report:
    """Of each program, at each batching, the label with the highest median; names: of the program of each label."""
    best: Report = {}
    for label, batchings in report.items():
        row = best.setdefault(names[label], {})
        for batching, figures in batchings.items():
            if batching not in row or _speed(figures) > _speed(row[batching]):
                row[batching] = {"label": label, **figures}
    return best


def _speed(figures: Mapping[str, Any]) -> float:
    median: float = figures["tokens_per_second"]["median"]
    return median


def render(heading: Sequence[str], best: Report, sentences: int) -> str:
    """Return two Markdown tables under the heading; a row per program, a column per batching."""
    batchings = list(next(iter(best.values())))
    header = ["", *(f"batches of {batching}" for batching in batchings)]
    speeds = [[name, *(speed_cell(row[batching]) for batching in batchings)] for name, row in best.items()]
    compared = [
        [name, *(ratio_cell(row[batching], sentences) for batching in batchings)]
        for name, row in best.items()
        if all(row[batching]["ratio"] is not None for batching in batchings)
    ]
    parts = ["Tokens a second, end marks included; median (least - most):", table(header, speeds)]
    if compared:
        parts += ["Weft's speed over theirs; outputs that are the same as Weft's:", table(header, compared)]
    return "\n".join([*heading, "", *parts])


def speed_cell(figures: Mapping[str, Any]) -> str:
    return format_range(figures["tokens_per_second"], ",.0f")


def ratio_cell(figures: Mapping[str, Any], sentences: int) -> str:
    return f"{format_range(figures['ratio'], '.2f')}; {figures['same_outputs']:,} of {sentences:,}"
