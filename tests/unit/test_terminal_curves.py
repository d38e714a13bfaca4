"""Terminal curves: every series is drawn, with or without color, at any size."""

import math
import re

from hypothesis import given, settings
from hypothesis import strategies as st

from weft.checkpoints.run_log import CurvePoints
from weft.visualize.run_monitor import downsample
from weft.visualize.terminal_curves import (
    RUN_MARKERS,
    VALIDATION_MARKERS,
    CurvePanel,
    RunCurve,
    linear_ticks,
    log_ticks,
    plot_panel,
)

finite_floats = st.floats(-1e6, 1e6, allow_nan=False)


def curves(values: st.SearchStrategy[float] = finite_floats) -> st.SearchStrategy[CurvePoints]:
    """Return a strategy for increasing steps with a value each."""
    steps = st.lists(st.integers(1, 5000), min_size=1, max_size=60, unique=True).map(sorted)
    return steps.flatmap(
        lambda chosen: st.lists(values, min_size=len(chosen), max_size=len(chosen)).map(
            lambda row_values: list(zip(chosen, row_values, strict=True))
        )
    )


def plot_text(panel: CurvePanel, width: int = 60, height: int = 10) -> list[str]:
    last = max(curve.points[-1][0] for curve in panel.curves)
    lines = plot_panel(panel, last, width, height)
    assert len(lines) == height
    assert all(line.cell_len <= width for line in lines)
    return [line.plain for line in lines]


def canvas_rows(lines: list[str]) -> list[str]:
    """Return the cells to the right of the axis."""
    return [re.split("[┤│]", line, maxsplit=1)[1] for line in lines[1:-2]]


@settings(max_examples=50, deadline=None)
@given(
    curves(),
    st.sampled_from(["loss", "gradient_norm", "tokens_per_second"]),
    st.booleans(),
    st.integers(23, 120),
    st.integers(6, 40),
)
def test_any_curve_fits_any_panel_size(
    points: CurvePoints, name: str, validation: bool, width: int, height: int
) -> None:
    lines = plot_text(CurvePanel(name, [RunCurve(0, points, validation)]), width, height)
    marker = (VALIDATION_MARKERS if validation else RUN_MARKERS)[0]
    assert marker in "".join(canvas_rows(lines))


@settings(max_examples=30, deadline=None)
@given(st.lists(st.floats(0, 100), min_size=2, max_size=30, unique=True), st.booleans())
def test_drawn_curve_is_monotonic_if_values_are(values: list[float], down: bool) -> None:
    values = sorted(values, reverse=down)
    if max(values) - min(values) < 1:
        return
    rows = canvas_rows(plot_text(CurvePanel("loss", [RunCurve(0, list(enumerate(values)))])))
    tops = [
        next((row for row, line in enumerate(rows) if line[column : column + 1].strip()), None) for column in range(55)
    ]
    drawn = [top for top in tops if top is not None]
    assert drawn == sorted(drawn, reverse=not down)
    assert {0, len(rows) - 1} <= {row for row, line in enumerate(rows) if line.strip()}  # the full height is used


@given(st.floats(-1e6, 1e6), st.floats(1e-3, 1e6), st.integers(1, 20))
def test_ticks_are_few_and_within_range(low: float, span: float, limit: int) -> None:
    ticks = list(linear_ticks(low, low + span, limit))
    assert 2 <= len(ticks) <= max(3, limit)
    slack = 1e-6 * max(abs(low), abs(low + span))
    assert all(low - slack <= tick <= low + span + slack for tick in ticks)
    assert ticks == sorted(ticks)


def test_wide_value_range_uses_log_axis() -> None:
    assert log_ticks(-1, 2, 4) == {-1: "0.1", 0: "1", 1: "10", 2: "100"}
    points = [(1, 0.01), (50, 1.0), (100, 100.0)]
    rows = plot_text(CurvePanel("gradient_norm", [RunCurve(0, points)]), 60, 15)
    labels = [float(match[0]) for row in rows[1:-2] if (match := re.match(r" *[\d.]+(?=┤)", row))]
    assert labels == sorted(labels, reverse=True)
    assert max(labels) / min(labels) >= 100
    middle = next(number for number, row in enumerate(canvas_rows(rows)) if row[27:29].strip())
    assert math.isclose(middle, len(canvas_rows(rows)) / 2, abs_tol=1)


@given(curves(), st.integers(1, 9))
def test_downsampling_keeps_extremes(points: CurvePoints, parts: int) -> None:
    sampled = downsample(points, parts)
    assert len(sampled) <= 4 * parts
    assert [point for point in points if point in sampled] == sampled
    for extreme in (min, max):
        assert extreme(points) in sampled  # the first and the last step
        assert extreme(value for _, value in points) in {value for _, value in sampled}


def test_runs_are_distinguishable_without_colors() -> None:
    rising = [(step, float(step)) for step in range(1, 60)]
    falling = [(step, 60.0 - step) for step in range(1, 60)]
    lines = plot_text(CurvePanel("learning_rate", [RunCurve(0, rising), RunCurve(1, falling)]))
    rows = canvas_rows(lines)
    assert lines[0] == " learning rate"
    assert rows[0].rstrip().endswith(RUN_MARKERS[0])
    assert rows[-1].rstrip().endswith(RUN_MARKERS[1])
    text = "".join(rows)
    assert text.count(RUN_MARKERS[0]) == text.count(RUN_MARKERS[1]) == 1
    assert any("\u2800" < letter <= "\u28ff" for letter in text)  # braille


def test_each_run_has_its_color() -> None:
    panel = CurvePanel("loss", [RunCurve(number, [(1, 1.0 + number), (9, 2.0 + number)]) for number in range(3)])
    styles = {str(span.style) for line in plot_panel(panel, 9, 60, 12) for span in line.spans}
    assert {"color(32)", "color(166)", "color(29)", "color(244)"} <= styles
    assert not any(" on " in style for style in styles)  # the background is the terminal's own


def test_validation_and_training_markers_differ() -> None:
    loss = CurvePanel(
        "loss", [RunCurve(0, [(1, 9.0), (100, 2.0)]), RunCurve(0, [(50, 4.0), (100, 3.0)], validation=True)]
    )
    heading, *rows = plot_text(loss)
    assert heading == f" loss  {RUN_MARKERS[0]} training  {VALIDATION_MARKERS[0]} validation"
    assert "".join(rows).count(VALIDATION_MARKERS[0]) == 2
    assert plot_text(CurvePanel("bleu", [RunCurve(0, [(1, 1.0)], validation=True)]))[0] == " bleu"


def test_validation_markers_are_spaced() -> None:
    points = [(step, float(step)) for step in range(1, 500)]
    rows = canvas_rows(plot_text(CurvePanel("bleu", [RunCurve(0, points, validation=True)]), 40))
    assert 5 < "".join(rows).count(VALIDATION_MARKERS[0]) < 15
    assert VALIDATION_MARKERS[0] in rows[0]  # the last validation is always marked
