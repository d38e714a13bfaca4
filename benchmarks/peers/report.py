"""Summary of all rounds as a Markdown table and as JSON."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias

from benchmarks.markdown import table
from benchmarks.peers.toolkit import Figures
from benchmarks.summary_statistics import format_range, summarize


class Turn(NamedTuple):
    """One run of one toolkit, with its peak memory in MiB: resident, and without mapped files."""

    figures: Figures
    peak: float | None
    anonymous: float | None

    @property
    def speed(self) -> float:
        return self.figures.tokens_per_second


Round: TypeAlias = dict[str, Turn]  # by toolkit
Limits: TypeAlias = Mapping[str, Sequence[float]]  # by toolkit, the upper bound of tokens/s in each round

HEADER = ("", "parameters", "target tokens/s", "loss", "peak MiB", "without files", "of the possible")


def make_report(rounds: Sequence[Round], ours: Sequence[str], limits: Limits) -> dict[str, Any]:
    """Summarize each toolkit that ran in every round.

    "share" is its speed over the limit and "ratios" the speed of each of `ours` over its speed, within each round.
    """
    complete = [name for name in rounds[0] if all(name in turns for turns in rounds)]
    report = {}
    for name in complete:
        turns = [turns[name] for turns in rounds]
        speeds = [turn.speed for turn in turns]
        report[name] = {
            **summary(turns),
            "share": summarize(quotients(speeds, limits[name])) if name in limits else None,
            "ratios": {
                our: summarize(quotients([turns[our].speed for turns in rounds], speeds))
                for our in ours
                if our in complete
            },
        }
    return report


def quotients(numerators: Sequence[float], denominators: Sequence[float]) -> list[float]:
    return [a / b for a, b in zip(numerators, denominators, strict=True)]


def summary(turns: Sequence[Turn]) -> dict[str, Any]:
    return {
        "parameters": turns[0].figures.parameters,
        "tokens_per_second": summarize([turn.speed for turn in turns]),
        "loss": turns[-1].figures.loss,
        "peak_memory_mib": maximum([turn.peak for turn in turns]),
        "anonymous_memory_mib": maximum([turn.anonymous for turn in turns]),
    }


def maximum(values: Sequence[float | None]) -> float | None:
    return max((value for value in values if value is not None), default=None)


def render(heading: Sequence[str], report: Mapping[str, Any], ours: Sequence[str]) -> str:
    """Return the report as a Markdown table under the heading lines."""
    header = [*HEADER, *(f"{our} / it" for our in ours)]
    rows = [row(name, figures, ours) for name, figures in report.items()]
    note = "The median over the rounds (least - most); ratios and shares are taken within each round."
    return "\n".join([*heading, "", table(header, rows), note])


def row(name: str, figures: Mapping[str, Any], ours: Sequence[str]) -> list[str]:
    return [
        name,
        f"{figures['parameters']:,}",
        format_range(figures["tokens_per_second"], ",.0f"),
        f"{figures['loss']:.2f}",
        format_mib(figures["peak_memory_mib"]),
        format_mib(figures["anonymous_memory_mib"]),
        "-" if figures["share"] is None else format_range(figures["share"], ".0%"),
        *(ratio(name, our, figures["ratios"]) for our in ours),
    ]


def format_mib(memory: float | None) -> str:
    return "-" if memory is None else f"{memory:,.0f}"


def ratio(name: str, our: str, ratios: Mapping[str, Any]) -> str:
    return "-" if our == name or our not in ratios else format_range(ratios[our], ".2f")
