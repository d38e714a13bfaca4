"""What is said of all lines: scores, classes of lines and words, what was changed."""

from __future__ import annotations

from weft.markup.elements import Html, element, join, table, text
from weft.metric.compare import Comparison, Result
from weft.metric.confusions import Confusion
from weft.metric.render_comparison import shown_p
from weft.report.bars import key

SURE = 0.05


def scores(comparison: Comparison) -> Html:
    """A row for each system, a column for each metric."""
    metrics = list(comparison.results.items())
    heads = ["", *(f"{name} {'↑' if found[0].score.better == 'higher' else '↓'}" for name, found in metrics)]
    rows: list[list[Html | str]] = [
        [key(number, name), *(_score(found[number], found[0]) for _, found in metrics)]
        for number, name in enumerate(comparison.names())
    ]
    note = "↑ higher is better, ↓ lower is better."
    if len(rows) > 1:
        note += f" Below a score: the difference to the first system and its p, in colour where p < {SURE}."
    return join([table(heads, rows), element("p", note, "note")])


def signatures(comparison: Comparison) -> Html:
    """With what each score can be computed again."""
    found = [f"{name}: {results[0].score.signature}" for name, results in comparison.results.items()]
    return join(element("code", line) for line in found)


def edits(comparison: Comparison) -> Html:
    """What makes the outputs of the references: word error rate, and what it counts."""
    found = comparison.edits()
    heads = ["", "word error rate", *(name for name, _ in found[0].counts)]
    rows: list[list[Html | str]] = [
        [key(number, name), f"{score.value:.1f} %", *(f"{counted:,.0f}" for _, counted in score.counts)]
        for number, (name, score) in enumerate(zip(comparison.names(), found, strict=True))
    ]
    return table(heads, rows)


def confusions(comparison: Comparison) -> Html:
    """Side by side, the commonest changes of each system."""
    systems = comparison.confusions()
    rows: list[list[Html | str]] = [
        [f"{rank + 1}.", *(confusion(found[rank]) if rank < len(found) else "" for found in systems)]
        for rank in range(max(map(len, systems)))
    ]
    names = [key(number, name) for number, name in enumerate(comparison.names())]
    return table([text(""), *names], rows, "words") if rows else element("p", "No word differs.")


def _score(result: Result, first: Result) -> Html:
    score = result.score
    half = "" if score.interval is None else f" ± {score.interval.half():.2f}"
    value = join([text(f"{score.value:.2f}"), element("small", half)])
    if result.p is None:
        return value
    difference = score.value - first.score.value
    good = (difference > 0) == (score.better == "higher")
    style = ("better" if good else "worse") if result.p < SURE and difference else ""
    told = element("small", element("span", f"{difference:+.2f}, p = {shown_p(result.p)}", style))
    return join([value, Html("<br>"), told])


def confusion(found: Confusion) -> Html:
    """A change, after how often it was made."""
    times = element("small", f"{found.times:,} ×")
    if not found.written:
        return join([times, element("del", found.wanted)])
    if not found.wanted:
        return join([times, element("ins", found.written)])
    return join([times, element("mark", join([text(found.written), element("small", found.wanted)]))])
