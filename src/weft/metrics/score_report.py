"""Scores and comparisons as text tables and as JSON."""

import json
from collections.abc import Sequence

from weft.metrics.comparison import Comparison, ScoreBucket, SystemScore
from weft.metrics.scores import MetricScore


def format_scores(scores: Sequence[MetricScore]) -> str:
    """Return a table with name, value, direction and signature per line, then the counts."""
    rows = [(score.name, format_score_value(score), f"{score.better} is better", score.signature) for score in scores]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = ["  ".join(f"{cell:<{width}}" for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]
    return "\n".join([*lines, *(line for table in _count_tables(scores) for line in ("", *table))])


def format_score_value(score: MetricScore) -> str:
    """Return the value, with half the width of its interval after ±."""
    return f"{score.value:6.2f}" + ("" if score.interval is None else f" ± {score.interval.half_width():.2f}")


def _count_tables(scores: Sequence[MetricScore]) -> list[list[str]]:
    """A table for each set of count names, with a row for each score that has them."""
    tables: dict[tuple[str, ...], list[list[str]]] = {}
    for score in scores:
        if score.counts:
            names = tuple(name for name, _ in score.counts)
            row = [score.name, *(f"{number:,.0f}" for _, number in score.counts)]
            tables.setdefault(names, [["", *names]]).append(row)
    return [align_columns(rows) for rows in tables.values()]


def align_columns(rows: Sequence[Sequence[str]]) -> list[str]:
    """Align the first column left and the others right, two spaces apart."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return ["  ".join([row[0].ljust(widths[0]), *map(str.rjust, row[1:], widths[1:])]).rstrip() for row in rows]


def scores_to_json(scores: Sequence[MetricScore]) -> str:
    """Return a JSON list with an object per score, nothing rounded."""
    return json.dumps([score_to_dict(score) for score in scores], indent=2)


def score_to_dict(score: MetricScore) -> dict[str, object]:
    """Return the score as an object for JSON; interval and counts only if it has them."""
    record: dict[str, object] = {
        "name": score.name,
        "value": score.value,
        "better": score.better,
        "signature": score.signature,
    }
    if score.interval is not None:
        record["interval"] = score.interval._asdict()
    if score.counts:
        record["counts"] = dict(score.counts)
    return record


def format_comparison(comparison: Comparison) -> str:
    """Return a table for each metric, one for the lengths of lines, one for the frequencies of words."""
    lines, names = len(comparison.data.references), comparison.names()
    blocks = [
        [f"{lines:,} {'line' if lines == 1 else 'lines'}; {comparison.describe_method()}"],
        *(_format_metric(results) for results in comparison.results.values()),
        [comparison.length_title(), *_format_buckets(comparison.lengths, "lines", names)],
        [f"{comparison.frequency_title()} (F-score)", *_format_buckets(comparison.frequencies, "words", names)],
    ]
    return "\n\n".join("\n".join(block) for block in blocks)


def _format_metric(results: Sequence[SystemScore]) -> list[str]:
    """Name and signature, a row for each system, and the counts."""
    first = results[0].score
    rows = []
    for result in results:
        difference = ["", ""]
        if result.p is not None:
            difference = [f"{result.score.value - first.value:+.2f}", f"p = {format_p_value(result.p)}"]
        rows.append([result.system, format_score_value(result.score), *difference])
    counts = _count_tables([result.score._replace(name=result.system) for result in results])
    heading = f"{first.name}  {first.better} is better  {first.signature}"
    return [heading, *(f"  {line}" for table in (align_columns(rows), *counts) for line in table)]


def format_p_value(p: float) -> str:
    """Return as many digits as ten thousand trials can resolve."""
    return f"{p:.4f}"


def _format_buckets(buckets: Sequence[ScoreBucket], unit: str, systems: Sequence[str]) -> list[str]:
    rows = [[bucket.label, f"{bucket.size:,}", *(f"{score:.2f}" for score in bucket.scores)] for bucket in buckets]
    return [f"  {line}" for line in align_columns([["", unit, *systems], *rows])]


def comparison_to_json(comparison: Comparison) -> str:
    """Return one JSON object, nothing rounded."""
    names = comparison.names()
    record = {
        "lines": len(comparison.data.references),
        "systems": names,
        "method": comparison.describe_method(),
        "metrics": {
            name: [{"system": result.system, **score_to_dict(result.score), "p": result.p} for result in results]
            for name, results in comparison.results.items()
        },
        f"{comparison.main_metric}_by_{comparison.length_side}_length": [
            bucket._asdict() for bucket in comparison.lengths
        ],
        "words_by_frequency": [bucket._asdict() for bucket in comparison.frequencies],
        "confusions": {
            name: [confusion._asdict() for confusion in found]
            for name, found in zip(names, comparison.confusions(), strict=True)
        },
    }
    return json.dumps(record, indent=2, ensure_ascii=False)
