"""The curves of a training run as line charts for its report."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from math import ceil
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeAlias

from weft.checkpoints.run_log import CurvePoints, TrainingHistory, curve_points
from weft.metrics.corpus_metrics import LOWER_IS_BETTER, METRICS
from weft.visualize.figures import ALERT_COLOR, GRID_COLOR, MUTED_COLOR, SERIES_COLORS, add_hover_text, page_svg
from weft.visualize.run_monitor import LOG_RATIO, downsample, format_tick

if TYPE_CHECKING:
    from markupsafe import Markup
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

SIZE = 4.6, 2.2  # inches
AXES_BOX = 0.1, 0.1, 0.875, 0.81  # of the figure: left, bottom, width, height
FONT_SIZE = 7.5  # points
CURVE_PARTS = 250  # of a curve; each keeps at most four points
MAX_HOVER_STEPS = 90
MAX_DOTS = 30  # points of a curve that are marked one by one
OUTPUT_STATISTICS = {"repetition": "repeated", "repetition_of_references": "repeated in references", "copy": "copied"}

AxisKind: TypeAlias = Literal["linear", "from zero", "log"]


class Series(NamedTuple):
    """A curve; color: index into SERIES_COLORS."""

    name: str
    color: int
    points: CurvePoints


class LineChart(NamedTuple):
    """Curves over the steps of a run. clip_norm: the limit of gradient norms, drawn as a line."""

    title: str
    series: Sequence[Series]
    axis: AxisKind
    clip_norm: float | None = None


class StepAxis(NamedTuple):
    """The x-axis that all charts of a run share."""

    last: int
    best: int | None = None
    diagnosed: Sequence[int] = ()


def training_charts(history: TrainingHistory, clip_norm: float | None) -> Iterator[LineChart]:
    """Yield a chart for each quantity that was logged."""
    reports, validations = history.reports, history.validations
    higher = [name for name in METRICS if name not in LOWER_IS_BETTER]
    lower = [name for name in METRICS if name in LOWER_IS_BETTER]
    statistics = [
        {"step": validation["step"], **validation["output_statistics"]}
        for validation in validations
        if isinstance(validation.get("output_statistics"), dict)
    ]
    charts = [
        LineChart("Loss", _training_and_validation(history, "loss"), "linear"),
        LineChart("Validation scores, higher is better", _series(validations, higher), "from zero"),
        LineChart("Validation scores, lower is better", _series(validations, lower), "from zero"),
        LineChart("Token accuracy, %", _training_and_validation(history, "accuracy"), "from zero"),
        LineChart("Validation perplexity", _series(validations, ["perplexity"]), "log"),
        LineChart("Learning rate", _series(reports, ["learning_rate"]), "from zero"),
        LineChart("Gradient norm", _series(reports, ["gradient_norm"]), "log", clip_norm),
        LineChart("Target tokens per second", _series(reports, ["tokens_per_second"]), "from zero"),
    ]
    yield from (chart for chart in charts if chart.series)
    habits = _series(statistics, list(OUTPUT_STATISTICS))
    if any(value for series in habits for _, value in series.points):
        yield LineChart("Words repeated or copied in outputs, %", habits, "from zero")


def _training_and_validation(history: TrainingHistory, name: str) -> list[Series]:
    both = (
        Series("training", 0, curve_points(history.reports, name)),
        Series("validation", 1, curve_points(history.validations, name)),
    )
    return [series for series in both if series.points]


def _series(records: Sequence[Mapping[str, Any]], names: Sequence[str]) -> list[Series]:
    curves = [(OUTPUT_STATISTICS.get(name, name.replace("_", " ")), curve_points(records, name)) for name in names]
    logged = [(label, points) for label, points in curves if points]
    return [Series(label, color % len(SERIES_COLORS), points) for color, (label, points) in enumerate(logged)]


def validation_table(history: TrainingHistory) -> tuple[list[str], list[list[str]]]:
    """Return the heads and the rows of a table of all validations; no rows if no number was logged."""
    validations = [validation for validation in history.validations if len(validation) > 1]
    names = dict.fromkeys(name for validation in validations for name in validation if name != "step")
    logged = [name for name in names if curve_points(validations, name)]
    rows = []
    for validation in validations if logged else []:
        values = [validation.get(name) for name in logged]
        cells = [f"{value:.2f}" if isinstance(value, int | float) else "" for value in values]
        rows.append([f"{validation['step']:,}", *cells])
    return ["step", *logged], rows


def format_value(value: float) -> str:
    """Format a number with three digits, as 1,386, 26.9 or 0.00125."""
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.3g}"


def describe_chart(chart: LineChart) -> str:
    """Describe a chart in words, for screen readers."""
    texts = []
    for series in chart.series:
        (first, begin), (last, end) = series.points[0], series.points[-1]
        span = f"from {format_value(begin)} at step {first:,} to {format_value(end)} at step {last:,}"
        texts.append(f"{series.name}: {span if first != last else f'{format_value(end)} at step {last:,}'}.")
    return f"{chart.title} over the steps. {' '.join(texts)}"


def chart_svg(chart: LineChart, steps: StepAxis) -> Markup:
    return page_svg(lambda: draw_chart(chart, steps), describe_chart(chart), crop=False)


def draw_chart(chart: LineChart, steps: StepAxis) -> Figure:
    """Draw a chart without its title and legend, which are text of the page."""
    from matplotlib.figure import Figure
    from matplotlib.ticker import FuncFormatter, MaxNLocator

    figure = Figure(figsize=SIZE)
    axes = figure.add_axes(AXES_BOX)
    for series in chart.series:
        points = downsample(series.points, CURVE_PARTS)
        dots = points if len(points) <= MAX_DOTS else points[-1:]
        color = SERIES_COLORS[series.color]
        axes.plot(*zip(*points, strict=True), color=color, linewidth=1.4, solid_joinstyle="round")
        axes.plot(*zip(*dots, strict=True), color=color, linestyle="", marker=".", markersize=5)
    _scale_value_axis(axes, chart)
    axes.set_xlim(0, max(1, steps.last))
    axes.xaxis.set_major_locator(MaxNLocator(6, steps=[1, 2, 2.5, 5, 10], integer=True))
    axes.xaxis.set_major_formatter(FuncFormatter(lambda step, _: format_tick(step) if step else "step 0"))
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: format_tick(value)))
    axes.tick_params(length=0, labelsize=FONT_SIZE, labelcolor=MUTED_COLOR, which="both")
    axes.grid(axis="y", color=GRID_COLOR, linewidth=0.7)
    axes.set_axisbelow(True)
    axes.spines[:].set_visible(False)
    _add_marks(axes, chart, steps)
    _add_hover_texts(axes, chart)
    return figure


def _scale_value_axis(axes: Axes, chart: LineChart) -> None:
    from matplotlib.ticker import LogLocator, MaxNLocator, NullFormatter

    values = [value for series in chart.series for _, value in series.points]
    low, high = min(values), max(values)
    if chart.axis == "log" and 0 < low <= high / LOG_RATIO:
        axes.set_yscale("log")
        axes.yaxis.set_major_locator(LogLocator(numticks=6))
        axes.yaxis.set_minor_formatter(NullFormatter())
        return
    axes.yaxis.set_major_locator(MaxNLocator(5, steps=[1, 2, 2.5, 5, 10]))
    if chart.axis == "from zero":
        axes.set_ylim(min(0.0, low), 1.06 * high or 1.0)


def _add_marks(axes: Axes, chart: LineChart, steps: StepAxis) -> None:
    """Mark the best step, diagnosed steps, and the norm that gradients are clipped to."""
    if steps.best is not None:
        axes.axvline(steps.best, color=MUTED_COLOR, linewidth=0.8, dashes=(3, 3))
    for step in steps.diagnosed:
        shown = min(step, steps.last)  # a step that failed is the one after the last report
        top = axes.get_xaxis_transform()
        axes.plot([shown], [1.02], "v", color=ALERT_COLOR, markersize=5, transform=top, clip_on=False)
    low, high = axes.get_ylim()
    if chart.clip_norm is not None and low <= chart.clip_norm <= high:
        axes.axhline(chart.clip_norm, color=ALERT_COLOR, linewidth=0.8, dashes=(5, 3))
        text, place = f"clipped to {format_tick(chart.clip_norm)}", (1, chart.clip_norm)
        label = axes.annotate(text, place, (0, 2), axes.get_yaxis_transform(), "offset points")
        label.set(ha="right", fontsize=FONT_SIZE, color=MUTED_COLOR)


def _add_hover_texts(axes: Axes, chart: LineChart) -> None:
    """Divide the chart into strips that show the values at a step."""
    steps = sorted({step for series in chart.series for step, _ in series.points})
    steps = steps[:: ceil(len(steps) / MAX_HOVER_STEPS)]
    values = [(series.name, dict(series.points)) for series in chart.series]
    left, right = axes.get_xlim()
    edges = [left, *((step + following) / 2 for step, following in pairwise(steps)), right]
    for step, (begin, end) in zip(steps, pairwise(edges), strict=True):
        texts = [f"{name} {format_value(curve[step])}" for name, curve in values if step in curve]
        add_hover_text(axes, begin, end, *axes.get_ylim(), ", ".join([f"step {step:,}", *texts]))
