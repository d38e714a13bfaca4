"""A comparison of systems for a terminal, and for programs."""

import json
from collections.abc import Sequence

from weft.metric.breakdown import Class
from weft.metric.compare import Comparison, Result
from weft.metric.render import align, as_record, counted, value


def render(comparison: Comparison) -> str:
    """A block for each metric, one of the lengths of lines, one of the frequencies of words."""
    lines = len(comparison.material.references)
    blocks = [
        [f"{lines:,} {'line' if lines == 1 else 'lines'}; {comparison.told()}"],
        *(_metric(results) for results in comparison.results.values()),
        [comparison.length_title(), *_classes(comparison, "lines")],
        [f"{comparison.frequency_title()} (F-score)", *_classes(comparison, "words")],
    ]
    return "\n\n".join("\n".join(block) for block in blocks)


def _metric(results: Sequence[Result]) -> list[str]:
    """Name and signature, a row for each system; what was counted."""
    score = results[0].score
    rows = [[result.system, value(result.score), *_difference(result, results[0])] for result in results]
    counts = counted([result.score._replace(name=result.system) for result in results])
    heading = f"{score.name}  {score.better} is better  {score.signature}"
    return [heading, *(f"  {line}" for line in (*align(rows), *(line for block in counts for line in block)))]


def _difference(result: Result, first: Result) -> tuple[str, str]:
    if result.p is None:
        return "", ""
    return f"{result.score.value - first.score.value:+.2f}", f"p = {shown_p(result.p)}"


def shown_p(p: float) -> str:
    """As many digits as ten thousand trials can tell."""
    return f"{p:.4f}"


def _classes(comparison: Comparison, unit: str) -> list[str]:
    classes = comparison.lengths if unit == "lines" else comparison.frequencies
    rows = [["", unit, *comparison.names()], *(_class_row(one) for one in classes)]
    return [f"  {line}" for line in align(rows)]


def _class_row(one: Class) -> list[str]:
    return [one.label, f"{one.size:,}", *(f"{score:.2f}" for score in one.scores)]


def as_json(comparison: Comparison) -> str:
    """One JSON object, nothing rounded."""
    return json.dumps(
        {
            "lines": len(comparison.material.references),
            "systems": comparison.names(),
            "method": comparison.told(),
            "metrics": {
                name: [{"system": result.system, **as_record(result.score), "p": result.p} for result in results]
                for name, results in comparison.results.items()
            },
            f"{comparison.metric()}_by_{comparison.length_of()}_length": [one._asdict() for one in comparison.lengths],
            "words_by_frequency": [one._asdict() for one in comparison.frequencies],
            "confusions": {
                name: [one._asdict() for one in found]
                for name, found in zip(comparison.names(), comparison.confusions(), strict=True)
            },
        },
        indent=2,
        ensure_ascii=False,
    )
