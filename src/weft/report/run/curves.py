"""How the numbers of a run went, step by step."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from weft.markup.elements import Html, element, join, table
from weft.metric.better import LOWER
from weft.metric.evaluate import METRICS
from weft.report.axes import Axis, axis, from_nothing, wide_axis
from weft.report.chart import Chart, Frame, Line, drawn, values
from weft.report.document import Section
from weft.report.run.gathering import Gathered
from weft.report.run.opening import note
from weft.store.run_log import History, points

TRAINING, VALIDATION = 0, 1  # colours
HABITS = {"repetition": "repeated", "repetition_of_references": "repeated in references", "copy": "copied"}


def curves(gathered: Gathered) -> Section:
    """A chart for each thing that was reported, all over the same steps; the numbers of validations below."""
    history = gathered.known.history
    charts = list(charts_of(history, gathered.known.recipe.train.clip))
    if not charts:
        return Section("Curves", "Curves", [note("The log has no report yet.")])
    best = gathered.outcome.best
    found = [float(one["step"]) for one in history.findings if one["step"]]
    frame = Frame(gathered.outcome.step, None if best is None else best.step, found)
    told = ["The step of the best model is marked by a dashed line."] if best is not None else []
    told += ["A triangle marks a step at which something was diagnosed."] if found else []
    told += ["A pointer that rests on a chart is told the numbers there."]
    pictures = element("div", join(drawn(chart, frame) for chart in charts), "charts")
    return Section("Curves", "Curves", [note(*told), pictures, *numbers(history)])


def charts_of(history: History, clip: float | None) -> Iterator[Chart]:
    """Those that have something to show."""
    reports, validations = history.reports, history.validations
    yield from _both("Loss", "loss", history, axis)
    higher = _lines(validations, [name for name in METRICS if name not in LOWER])
    lower = _lines(validations, [name for name in METRICS if name in LOWER])
    yield from _chart("Validation scores, higher is better", higher, from_nothing)
    yield from _chart("Validation scores, lower is better", lower, from_nothing)
    yield from _both("Accuracy of single tokens, %", "accuracy", history, from_nothing)
    yield from _chart("Perplexity in validation", _lines(validations, ["perplexity"]), wide_axis)
    yield from _chart("Learning rate", _lines(reports, ["rate"]), from_nothing)
    level = None if clip is None else ("clipped to", clip)
    for chart in _chart("Norm of the gradient", _lines(reports, ["norm"]), wide_axis):
        yield chart._replace(level=level)
    yield from _chart("Tokens a second", _lines(reports, ["tokens_per_second"]), from_nothing)
    habits = [{"step": one["step"], **one["habits"]} for one in validations if isinstance(one.get("habits"), dict)]
    lines = _lines(habits, list(HABITS))
    if any(values(lines)):
        yield from _chart("Words repeated or copied in outputs, %", lines, from_nothing)


def numbers(history: History) -> list[Html]:
    """Every validation, folded."""
    validations = [one for one in history.validations if len(one) > 1]
    names = [name for name in dict.fromkeys(name for one in validations for name in one) if name != "step"]
    told = [name for name in names if points(validations, name)]
    if not told:
        return []
    rows = [[f"{one['step']:,}", *(_number(one.get(name)) for name in told)] for one in validations]
    summary = element("summary", f"The numbers of all {len(rows)} validations")
    return [element("details", join([summary, table(["step", *told], rows)]))]


def _number(value: object) -> str:
    return f"{value:.2f}" if isinstance(value, int | float) else ""


def _both(title: str, name: str, history: History, up: Callable[[Sequence[float]], Axis]) -> Iterator[Chart]:
    """In training and in validation."""
    both = (
        Line("training", TRAINING, points(history.reports, name)),
        Line("validation", VALIDATION, points(history.validations, name)),
    )
    yield from _chart(title, [line for line in both if line.points], up)


def _lines(records: Sequence[Mapping[str, Any]], names: Sequence[str]) -> list[Line]:
    found = [(name, points(records, name)) for name in names]
    there = [(name, some) for name, some in found if some]
    return [Line(_spoken(name), number, some) for number, (name, some) in enumerate(there)]


def _spoken(name: str) -> str:
    return HABITS.get(name, name.replace("tokens_per_second", "tokens/s"))


def _chart(title: str, lines: Sequence[Line], up: Callable[[Sequence[float]], Axis]) -> Iterator[Chart]:
    if lines:
        yield Chart(title, lines, up(values(lines)))
