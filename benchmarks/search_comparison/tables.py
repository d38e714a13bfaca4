"""The results as Markdown tables and as JSON."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

from benchmarks.markdown import table
from benchmarks.search_comparison.results import Row
from benchmarks.search_comparison.search_settings import SEARCHES
from benchmarks.summary_statistics import Proportion

from weft.metrics.scores import MetricScore

Figures: TypeAlias = Mapping[str, Sequence[Row]]  # by model


def markdown(figures: Figures, facts: Mapping[str, Any]) -> str:
    """Return all tables."""
    rows = next(iter(figures.values()))
    models = [f"### {name}\n\n{scores_table(of_model)}" for name, of_model in figures.items()]
    return "\n".join([heading(facts), *models, settings_table([row.search for row in rows]), signatures(rows[0])])


def heading(facts: Mapping[str, Any]) -> str:
    return (
        "{cpu}, cores: {cores}, threads: {threads}, torch {torch}. "
        "Multi30k, {source} to {target}, {split} set, lines: {lines:,}.\n".format(**facts)
    )


def scores_table(rows: Sequence[Row]) -> str:
    first = rows[0].search
    header = ["search", "BLEU", f"p, against {first}", "chrF", "length", "seconds", "log P at least greedy's"]
    return table(header, [cells(row) for row in rows])


def cells(row: Row) -> list[str]:
    share = row.at_least_greedy()
    return [
        row.search,
        with_interval(row.bleu),
        "" if row.p is None else f"{row.p:.3f}",
        f"{row.chrf.value:.1f}",
        f"{row.length:.2f}",
        f"{row.seconds:,.1f}",
        "" if share is None else percent(share),
    ]


def with_interval(score: MetricScore) -> str:
    """A single line has no interval."""
    return f"{score.value:.1f}" if score.interval is None else f"{score.value:.1f} ± {score.interval.half_width():.1f}"


def percent(share: Proportion) -> str:
    return f"{100 * share.value():.1f} %"


def settings_table(searches: Sequence[str]) -> str:
    def options(search: str) -> str:
        return " ".join(f'`--set "{setting}"`' for setting in SEARCHES[search])

    return table(["search", "options"], [[search, options(search)] for search in searches])


def signatures(row: Row) -> str:
    return f"BLEU: `{row.bleu.signature}`; chrF: `{row.chrf.signature}`.\n"


def as_json(figures: Figures, facts: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "setting": facts,
        "searches": {row.search: SEARCHES[row.search] for row in next(iter(figures.values()))},
        "models": {name: [row_as_json(row) for row in rows] for name, rows in figures.items()},
    }


def row_as_json(row: Row) -> dict[str, Any]:
    """Include every line below greedy search."""
    share = row.at_least_greedy()
    return {
        **row._asdict(),
        "bleu": score_as_json(row.bleu),
        "chrf": score_as_json(row.chrf),
        "at_least_greedy": None if share is None else share.value(),
        "below": None if row.below is None else [line._asdict() for line in row.below],
    }


def score_as_json(score: MetricScore) -> dict[str, Any]:
    return {
        "value": score.value,
        "interval": None if score.interval is None else score.interval._asdict(),
        "signature": score.signature,
    }
