"""Curves in a terminal: all series are drawn, also without color, and every size is enough."""

import math
import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as some

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

numbers = some.floats(-1e6, 1e6, allow_nan=False)


def curves(values: some.SearchStrategy[float] = numbers) -> some.SearchStrategy[CurvePoints]:
    """Steps upward, and a value at each."""
    steps = some.lists(some.integers(1, 5000), min_size=1, max_size=60, unique=True).map(sorted)
    return steps.flatmap(
        lambda found: some.lists(values, min_size=len(found), max_size=len(found)).map(
            lambda row: list(zip(found, row, strict=True))
        )
    )


def plain(panel: CurvePanel, width: int = 60, height: int = 10) -> list[str]:
    last = max(curve.points[-1][0] for curve in panel.curves)
    lines = plot_panel(panel, last, width, height)
    assert len(lines) == height
    assert all(line.cell_len <= width for line in lines)
    return [line.plain for line in lines]


def canvas(lines: list[str]) -> list[str]:
    """The cells right of the axis."""
    return [re.split("[┤│]", line, maxsplit=1)[1] for line in lines[1:-2]]


@settings(max_examples=50, deadline=None)
@given(
    curves(),
    some.sampled_from(["loss", "gradient_norm", "tokens_per_second"]),
    some.booleans(),
    some.integers(23, 120),
    some.integers(6, 40),
)
def test_every_curve_fits_into_every_panel(
    points: CurvePoints, name: str, validation: bool, width: int, height: int
) -> None:
    lines = plain(CurvePanel(name, [RunCurve(0, points, validation)]), width, height)
    marker = (VALIDATION_MARKERS if validation else RUN_MARKERS)[0]
    assert marker in "".join(canvas(lines))


@settings(max_examples=30, deadline=None)
@given(some.lists(some.floats(0, 100), min_size=2, max_size=30, unique=True), some.booleans())
def test_what_rises_rises_and_what_falls_falls(values: list[float], down: bool) -> None:
    values = sorted(values, reverse=down)
    if max(values) - min(values) < 1:
        return
    rows = canvas(plain(CurvePanel("loss", [RunCurve(0, list(enumerate(values)))])))
    tops = [
        next((row for row, line in enumerate(rows) if line[column : column + 1].strip()), None) for column in range(55)
    ]
    drawn = [top for top in tops if top is not None]
    assert drawn == sorted(drawn, reverse=not down)
    assert {0, len(rows) - 1} <= {row for row, line in enumerate(rows) if line.strip()}  # the room is used


@pytest.mark.parametrize(
    ("low", "high", "ticks"),
    [
        (2.9, 9.1, ["4", "6", "8"]),
        (0, 1200, ["0", "500", "1k"]),
        (-1, 1, ["-1", "0", "1"]),
        (22.6, 32.6, ["25", "30"]),
        (4.5, 5.5, ["4.5", "5", "5.5"]),
    ],
)
def test_ticks_are_round(low: float, high: float, ticks: list[str]) -> None:
    assert list(linear_ticks(low, high, 3).values()) == ticks


@given(some.floats(-1e6, 1e6), some.floats(1e-3, 1e6), some.integers(1, 20))
def test_ticks_are_few_and_inside(low: float, span: float, limit: int) -> None:
    ticks = list(linear_ticks(low, low + span, limit))
    assert 2 <= len(ticks) <= max(3, limit)
    slack = 1e-6 * max(abs(low), abs(low + span))
    assert all(low - slack <= tick <= low + span + slack for tick in ticks)
    assert ticks == sorted(ticks)


def test_values_that_are_far_apart_have_a_logarithmic_axis() -> None:
    assert log_ticks(-1, 2, 4) == {-1: "0.1", 0: "1", 1: "10", 2: "100"}
    points = [(1, 0.01), (50, 1.0), (100, 100.0)]
    rows = plain(CurvePanel("gradient_norm", [RunCurve(0, points)]), 60, 15)
    labels = [float(match[0]) for row in rows[1:-2] if (match := re.match(r" *[\d.]+(?=┤)", row))]
    assert labels == sorted(labels, reverse=True)
    assert max(labels) / min(labels) >= 100
    middle = next(number for number, row in enumerate(canvas(rows)) if row[27:29].strip())
    assert math.isclose(middle, len(canvas(rows)) / 2, abs_tol=1)


@given(curves(), some.integers(1, 9))
def test_fewer_points_keep_what_sticks_out(points: CurvePoints, parts: int) -> None:
    kept = downsample(points, parts)
    assert len(kept) <= 4 * parts
    assert [point for point in points if point in kept] == kept
    for best in (min, max):
        assert best(points) in kept  # the first and the last step
        assert best(value for _, value in points) in {value for _, value in kept}


def test_runs_are_told_apart_without_colors() -> None:
    rising = [(step, float(step)) for step in range(1, 60)]
    falling = [(step, 60.0 - step) for step in range(1, 60)]
    lines = plain(CurvePanel("learning_rate", [RunCurve(0, rising), RunCurve(1, falling)]))
    rows = canvas(lines)
    assert lines[0] == " learning rate"
    assert rows[0].rstrip().endswith(RUN_MARKERS[0])
    assert rows[-1].rstrip().endswith(RUN_MARKERS[1])
    text = "".join(rows)
    assert text.count(RUN_MARKERS[0]) == text.count(RUN_MARKERS[1]) == 1
    assert any("\u2800" < letter <= "\u28ff" for letter in text)  # braille


def test_runs_have_their_colors() -> None:
    panel = CurvePanel("loss", [RunCurve(number, [(1, 1.0 + number), (9, 2.0 + number)]) for number in range(3)])
    styles = {str(span.style) for line in plot_panel(panel, 9, 60, 12) for span in line.spans}
    assert {"color(32)", "color(166)", "color(29)", "color(244)"} <= styles
    assert not any(" on " in style for style in styles)  # the background is the terminal's own


def test_validations_are_told_from_training() -> None:
    loss = CurvePanel(
        "loss", [RunCurve(0, [(1, 9.0), (100, 2.0)]), RunCurve(0, [(50, 4.0), (100, 3.0)], validation=True)]
    )
    heading, *rows = plain(loss)
    assert heading == f" loss  {RUN_MARKERS[0]} training  {VALIDATION_MARKERS[0]} validation"
    assert "".join(rows).count(VALIDATION_MARKERS[0]) == 2
    assert plain(CurvePanel("bleu", [RunCurve(0, [(1, 1.0)], validation=True)]))[0] == " bleu"


def test_many_validations_leave_room_between_their_markers() -> None:
    points = [(step, float(step)) for step in range(1, 500)]
    rows = canvas(plain(CurvePanel("bleu", [RunCurve(0, points, validation=True)]), 40))
    assert 5 < "".join(rows).count(VALIDATION_MARKERS[0]) < 15
    assert VALIDATION_MARKERS[0] in rows[0]  # the last one is always there


def test_the_steps_stand_below() -> None:
    bottom = plain(CurvePanel("gradient_norm", [RunCurve(0, [(1, 1.0), (1000, 5.0)])]), 60, 6)[-1]
    assert bottom.split() == ["step", "0", "200", "400", "600", "800", "1k"]
    for step in (200, 400, 600, 800):
        assert abs(bottom.index(str(step)) + 1 - (6 + 53 * step / 1000)) < 3
