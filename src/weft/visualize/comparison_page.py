"""The HTML page of `weft compare`: scores of several systems, and sentences side by side."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from weft.core.extras import require_extra
from weft.core.formatting import pluralize
from weft.core.templates import render_template, write_page
from weft.metrics.comparison import Comparison, SystemScore
from weft.metrics.score_report import format_p_value
from weft.metrics.significance import SIGNIFICANCE_LEVEL
from weft.visualize.sentence_examples import best_lines, improved_lines, sentence_examples, worst_lines

SENTENCE_METRIC, SENTENCES_PER_KIND = "chrf", 10  # the defaults of `weft compare`


def write_comparison_page(compare: Callable[[], Comparison], path: Path, metric: str, count: int) -> Comparison:
    """Compare and write the page; raise UserError before the comparison if the path cannot be written."""
    require_extra("plots", "weft compare --html")
    return write_page(path, compare, lambda comparison: comparison_page(comparison, metric, count))


def comparison_page(comparison: Comparison, metric: str, count: int) -> str:
    """Render the page with `count` sentences of each kind, selected by their scores in `metric`."""
    names, sentences = comparison.names(), comparison.sentence_scores(metric)
    counts = f"{pluralize(len(names), 'system')} on {pluralize(len(comparison.data.references), 'line')}"
    differences = [
        (
            name,
            sentence_examples(comparison, sentences, improved_lines(sentences, number, 0, count)),
            sentence_examples(comparison, sentences, improved_lines(sentences, 0, number, count)),
        )
        for number, name in enumerate(names[1:], start=1)
    ]
    return render_template(
        "weft.visualize",
        "comparison.html.jinja",
        contents=[],
        title=f"Comparison: {', '.join(names)}",
        summary=f"{counts}. {comparison.describe_method()}.",
        comparison=comparison,
        names=names,
        scores=score_rows(comparison),
        sentence_scores=sentences,
        differences=differences,
        worst=sentence_examples(comparison, sentences, worst_lines(sentences, count)),
        best=sentence_examples(comparison, sentences, best_lines(sentences, count)),
    )


def score_rows(comparison: Comparison) -> list[list[tuple[str, str, str, str]]]:
    """Return a row for each system, with a cell for each metric: score, interval, difference to the first system, and
    the class of that difference in page.css ("" if it is not significant).
    """
    rows = list(zip(*comparison.results.values(), strict=True))
    return [[_score_cell(result, first) for result, first in zip(row, rows[0], strict=True)] for row in rows]


def _score_cell(result: SystemScore, first: SystemScore) -> tuple[str, str, str, str]:
    score, text, significance = result.score, "", ""
    interval = "" if score.interval is None else f" ± {score.interval.half_width():.2f}"
    if result.p is not None:
        difference = score.value - first.score.value
        text = f"{difference:+.2f}, p = {format_p_value(result.p)}"
        if result.p < SIGNIFICANCE_LEVEL and difference:
            significance = "better" if (difference > 0) == (score.better == "higher") else "worse"
    return f"{score.value:.2f}", interval, text, significance
