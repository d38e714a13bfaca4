"""Curves of training runs in a terminal: which panels there are, and their plots (drawn by plotext)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import count
from typing import NamedTuple

from rich.text import Text

from weft.checkpoints.run_log import CurvePoints, TrainingHistory, curve_points
from weft.visualize.run_monitor import LOG_RATIO, RunMonitor, downsample, format_tick, numeric_fields

PANEL_TITLES = {
    "learning_rate": "learning rate",
    "gradient_norm": "gradient norm",
    "tokens_per_second": "tokens per second",
}
TRAINING_PANELS = tuple(PANEL_TITLES)  # besides the loss
TOKEN_METRICS = ("accuracy", "perplexity")  # come after the metrics of outputs, which say more
LOG_PANELS = ("gradient_norm", "perplexity")
ZERO_BASED_PANELS = ("tokens_per_second",)

RUN_COLORS = (32, 166, 29, 133, 30, 167)  # of the 256 terminal colors; readable on black and on white
RUN_MARKERS, VALIDATION_MARKERS = "●▲■◆★▼", "○△□◇☆▽"  # in the order of the colors
AXIS_COLOR = 244
AXIS_STYLE = f"color({AXIS_COLOR})"
MIN_LABEL_WIDTH = 4  # cells, so that the axes of panels are aligned
MARKER_SPACING = 3  # cells between two markers of validations


def run_color(run: int) -> str:
    return f"color({RUN_COLORS[run % len(RUN_COLORS)]})"


def run_marker(run: int, *, validation: bool = False) -> str:
    return (VALIDATION_MARKERS if validation else RUN_MARKERS)[run % len(RUN_MARKERS)]


class RunCurve(NamedTuple):
    """A quantity logged by the run with this number."""

    run: int
    points: CurvePoints
    validation: bool = False


class CurvePanel(NamedTuple):
    """The curves of one quantity of all runs."""

    name: str
    curves: list[RunCurve]

    @property
    def is_mixed(self) -> bool:
        """Whether there are curves of training and of validation."""
        return len({curve.validation for curve in self.curves}) == 2


def build_panels(runs: Sequence[RunMonitor]) -> list[CurvePanel]:
    """Return the loss, the metric of the best checkpoint, then everything else that was logged."""
    logged = [name for run in runs for record in run.history.validations[-1:] for name in numeric_fields(record)]
    logged.sort(key=lambda name: name in TOKEN_METRICS)
    metrics = list(dict.fromkeys([*(run.plan.best_metric for run in runs if run.plan), *logged, "loss"]))
    metrics.remove("loss")
    histories = [run.history for run in runs]
    panels = [
        CurvePanel("loss", [*_curves(histories, "loss"), *_curves(histories, "loss", validation=True)]),
        *(CurvePanel(name, _curves(histories, name, validation=True)) for name in metrics[:1]),
        *(CurvePanel(name, _curves(histories, name)) for name in TRAINING_PANELS),
        *(CurvePanel(name, _curves(histories, name, validation=True)) for name in metrics[1:]),
    ]
    return [panel for panel in panels if panel.curves]


def _curves(histories: Sequence[TrainingHistory], name: str, *, validation: bool = False) -> list[RunCurve]:
    curves = [
        RunCurve(number, curve_points(history.validations if validation else history.reports, name), validation)
        for number, history in enumerate(histories)
    ]
    return [curve for curve in curves if curve.points]


def plot_panel(panel: CurvePanel, last_step: int, width: int, height: int) -> list[Text]:
    """Draw a panel in exactly `height` lines of at most `width` cells."""
    import plotext

    values = [value for curve in panel.curves for _, value in curve.points]
    values += [0.0] * (panel.name in ZERO_BASED_PANELS)
    is_log = panel.name in LOG_PANELS and 0 < min(values) < max(values) / LOG_RATIO
    scale = math.log10 if is_log else float
    low, high = min(map(scale, values)), max(map(scale, values))
    margin = 0.1 * (high - low) or 0.1 * abs(high) or 1.0
    low, high = (low - margin, high + margin) if high == low else (low, high)
    labels = (log_ticks if is_log else linear_ticks)(low, high, height // 3)

    plotext.terminal.limit(False, False)  # the caller knows its size
    plotext.add_theme("weft", text=plotext.pixel(AXIS_COLOR))
    figure = plotext.figure
    figure.clear()
    figure.theme("weft")
    figure.plot_size(width, height - 1)
    figure.axes(False, side=1)
    for curve in panel.curves:
        color = RUN_COLORS[curve.run % len(RUN_COLORS)]
        points = [(step, scale(value)) for step, value in downsample(curve.points, 2 * width)]
        if not (curve.validation and panel.is_mixed):
            figure.draw(figure.signal(*zip(*points, strict=True), marker=plotext.marker("braille", color)).lines())
        marked = _spaced(points, MARKER_SPACING * last_step / width) if curve.validation else points[-1:]
        marker = run_marker(curve.run, validation=curve.validation)
        figure.draw(figure.signal(*zip(*marked, strict=True), marker=plotext.marker(marker, color)))
    steps = linear_ticks(0, max(1, last_step), width // 9)
    figure.ruler("x").lim(0, max(1, last_step))
    figure.ruler("x").ticks(list(steps), [steps[step] if step else "step 0" for step in steps])
    figure.ruler("y").lim(low, high)
    figure.ruler("y").ticks(list(labels), [label.rjust(MIN_LABEL_WIDTH) for label in labels.values()])
    return [_heading(panel), *Text.from_ansi(figure.build().string()).split("\n")][:height]


def _heading(panel: CurvePanel) -> Text:
    title = Text().append(f" {PANEL_TITLES.get(panel.name, panel.name)}", "bold")
    if panel.is_mixed:
        run = panel.curves[0].run
        title.append(f"  {run_marker(run)} training  {run_marker(run, validation=True)} validation", AXIS_STYLE)
    return title


def _spaced(points: Sequence[tuple[int, float]], distance: float) -> list[tuple[int, float]]:
    """Return the last point, and before it those that are at least `distance` steps apart."""
    spaced: list[tuple[int, float]] = []
    for point in reversed(points):
        if not spaced or spaced[-1][0] - point[0] >= distance:
            spaced.append(point)
    return spaced


def linear_ticks(low: float, high: float, limit: int) -> dict[float, str]:
    """Return two to `limit` (at least 3) multiples of 1, 2, 2.5 or 5 times a power of ten, with their labels."""
    limit = max(3, limit)
    powers = count(math.floor(math.log10((high - low) / limit)))
    for step in (factor * 10.0**power for power in powers for factor in (1, 2, 2.5, 5)):
        first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
        if last - first + 1 <= limit:
            ticks = [step * number for number in range(first, last + 1)]
            return {tick: format_tick(tick) for tick in (ticks if len(ticks) > 1 else [low, high])}
    return {}


def log_ticks(low: float, high: float, limit: int) -> dict[float, str]:
    """Return 1, 2 and 5 times powers of ten between 10^low and 10^high, as logarithms with their labels."""
    exponents = range(math.floor(low), math.ceil(high) + 1)
    ticks = [math.log10(factor) + exponent for exponent in exponents for factor in (1, 2, 5)]
    inside = [tick for tick in ticks if low <= tick <= high]
    every = math.ceil(len(inside) / max(2, limit))
    return {tick: format_tick(10**tick) for tick in inside[::every]}
