"""The figures of several rounds, as a table and as JSON."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias

from benchmarks.page import table
from benchmarks.peers.tasks import Figures
from benchmarks.spreads import between, spread


class Turn(NamedTuple):
    """One run of one toolkit, and the most memory it held, in MiB: all of it, and what is no file."""

    figures: Figures
    peak: float | None
    anonymous: float | None

    @property
    def speed(self) -> float:
        return self.figures.tokens_per_second


Round: TypeAlias = dict[str, Turn]  # of each toolkit
Limits: TypeAlias = Mapping[
    str, Sequence[float]
]  # of a toolkit, the tokens a second that are possible, a number a round

HEADER = ("", "parameters", "target tokens/s", "loss", "peak MiB", "without files", "of the possible")


def make_report(rounds: Sequence[Round], ours: Sequence[str], limits: Limits) -> dict[str, Any]:
    """The medians of each toolkit that has taken every turn, and within each round what share of the possible it
    reached and how many times as fast as it ours were.
    """
    whole = [name for name in rounds[0] if all(name in turns for turns in rounds)]
    report = {}
    for name in whole:
        turns = [turns[name] for turns in rounds]
        speeds = [turn.speed for turn in turns]
        report[name] = {
            **summary(turns),
            "share": spread(quotients(speeds, limits[name])) if name in limits else None,
            "ratios": {
                our: spread(quotients([turns[our].speed for turns in rounds], speeds)) for our in ours if our in whole
            },
        }
    return report


def quotients(ones: Sequence[float], others: Sequence[float]) -> list[float]:
    return [one / other for one, other in zip(ones, others, strict=True)]


def summary(turns: Sequence[Turn]) -> dict[str, Any]:
    return {
        "parameters": turns[0].figures.parameters,
        "tokens_per_second": spread([turn.speed for turn in turns]),
        "loss": turns[-1].figures.loss,
        "peak_memory_mib": most([turn.peak for turn in turns]),
        "anonymous_memory_mib": most([turn.anonymous for turn in turns]),
    }


def most(values: Sequence[float | None]) -> float | None:
    return max((value for value in values if value is not None), default=None)


def render(heading: Sequence[str], report: Mapping[str, Any], ours: Sequence[str]) -> str:
    """The report as a table of Markdown under some lines that say what was measured."""
    header = [*HEADER, *(f"{our} / it" for our in ours)]
    rows = [row(name, figures, ours) for name, figures in report.items()]
    told = "The median over the rounds (least - most); ratios and shares are taken within each round."
    return "\n".join([*heading, "", table(header, rows), told])


def row(name: str, figures: Mapping[str, Any], ours: Sequence[str]) -> list[str]:
    return [
        name,
        f"{figures['parameters']:,}",
        between(figures["tokens_per_second"], ",.0f"),
        f"{figures['loss']:.2f}",
        megabytes(figures["peak_memory_mib"]),
        megabytes(figures["anonymous_memory_mib"]),
        "-" if figures["share"] is None else between(figures["share"], ".0%"),
        *(ratio(name, our, figures["ratios"]) for our in ours),
    ]


def megabytes(held: float | None) -> str:
    return "-" if held is None else f"{held:,.0f}"


def ratio(name: str, our: str, ratios: Mapping[str, Any]) -> str:
    return "-" if our == name or our not in ratios else between(ratios[our], ".2f")
