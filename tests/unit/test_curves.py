"""Curves that are drawn with letters: what the points do, the dots do."""

import math
import re

import pytest
from hypothesis import given
from hypothesis import strategies as some

from weft.store.run_log import Points
from weft.watching.canvas import BITS, BLANK, Canvas
from weft.watching.panels import Curve, Panel
from weft.watching.plot import SIGNS, VALIDATIONS, plot
from weft.watching.scale import scale_of, short
from weft.watching.thinning import thinned

numbers = some.floats(-1e6, 1e6, allow_nan=False)
positive = some.floats(1e-6, 1e6, allow_nan=False)


def curves(values: some.SearchStrategy[float] = numbers) -> some.SearchStrategy[Points]:
    """Steps upward, and whatever was measured there."""
    steps = some.lists(some.integers(1, 5000), min_size=1, max_size=60, unique=True).map(sorted)
    return steps.flatmap(
        lambda found: some.lists(values, min_size=len(found), max_size=len(found)).map(
            lambda row: list(zip(found, row, strict=True))
        )
    )


def dots_of(canvas: Canvas) -> set[tuple[int, int]]:
    """Column and row of each dot that is drawn, the first row at the top."""
    found = set()
    for row, cells in enumerate(canvas.rows()):
        for column, cell in enumerate(cells):
            bits = ord(cell.letter) - BLANK if cell.letter != " " else 0
            found |= {
                (2 * column + x, 4 * row + y) for y, pair in enumerate(BITS) for x, bit in enumerate(pair) if bits & bit
            }
    return found


def drawn(points: Points, width: int = 30, height: int = 6) -> tuple[Canvas, list[tuple[int, int]]]:
    """The line through all points, and the dot of each of them."""
    canvas, scale = Canvas(width, height), scale_of([value for _, value in points], 3)
    dots = [canvas.dot((step / points[-1][0], scale.place(value))) for step, value in points]
    canvas.line(dots, 0)
    return canvas, dots


@given(curves())
def test_all_points_fit(points: Points) -> None:
    canvas, dots = drawn(points)
    assert set(dots) <= dots_of(canvas)
    assert all(0 <= column < 60 and 0 <= row < 24 for column, row in dots)
    if max(value for _, value in points) - min(value for _, value in points) > 1:
        assert {0, 23} <= {row for _, row in dots_of(canvas)}  # and the room is used


@given(curves(), some.booleans())
def test_what_rises_rises_and_what_falls_falls(points: Points, down: bool) -> None:
    steps, values = [step for step, _ in points], sorted((value for _, value in points), reverse=down)
    found = dots_of(drawn(list(zip(steps, values, strict=True)))[0])
    columns = sorted({column for column, _ in found})
    tops = [min(row for other, row in found if other == column) for column in columns]
    assert tops == sorted(tops, reverse=not down)
    assert columns == list(range(columns[0], columns[-1] + 1))  # without a gap


@given(some.lists(positive, min_size=1), some.integers(2, 8), some.booleans())
def test_an_axis_holds_all_values_in_their_order(values: list[float], most: int, logarithmic: bool) -> None:
    scale = scale_of(values, most, logarithmic=logarithmic)
    places = [scale.place(value) for value in sorted(values)]
    assert places == sorted(places)
    assert all(0 <= place <= 1 for place in places)
    assert 1 <= len(scale.ticks) <= max(3, most)
    slack = 1e-6 * max(abs(scale.low), abs(scale.high))
    assert all(scale.low - slack <= tick <= scale.high + slack for tick in scale.ticks)
    assert list(scale.ticks) == sorted(set(scale.ticks))


@pytest.mark.parametrize(
    ("low", "high", "ticks"),
    [
        (2.9, 9.1, (4, 6, 8)),
        (0, 1200, (0, 500, 1000)),
        (-1, 1, (-1, 0, 1)),
        (22.6, 32.6, (25, 30)),
        (5, 5, (4.5, 5, 5.5)),
    ],
)
def test_round_numbers_are_written(low: float, high: float, ticks: tuple[float, ...]) -> None:
    assert scale_of([low, high], 3).ticks == pytest.approx(ticks)


def test_what_is_far_apart_may_be_logarithmic() -> None:
    scale = scale_of([0.1, 1, 100], 4, logarithmic=True)
    assert scale.place(math.sqrt(10)) == pytest.approx(0.5)
    assert not scale_of([0.0, 100], 4, logarithmic=True).logarithmic  # which zero cannot be
    assert not scale_of([1.0, 2.0], 4, logarithmic=True).logarithmic


@pytest.mark.parametrize(
    ("value", "text"),
    [(0, "0"), (0.25, "0.25"), (12.0, "12"), (4500, "4.5k"), (2e6, "2M"), (2e-4, "2e-4"), (-1.5, "-1.5")],
)
def test_numbers_at_an_axis_are_short(value: float, text: str) -> None:
    assert short(value) == text


@given(curves(), some.integers(1, 9))
def test_fewer_points_keep_what_sticks_out(points: Points, parts: int) -> None:
    kept = thinned(points, parts)
    assert len(kept) <= 4 * parts
    assert [point for point in points if point in kept] == kept
    for best in (min, max):
        assert best(points) in kept  # the first and the last step
        assert best(value for _, value in points) in {value for _, value in kept}


def plain(panel: Panel, width: int = 60, height: int = 10) -> str:
    last = max(curve.points[-1][0] for curve in panel.curves)
    lines = plot(panel, last, width, height)
    assert len(lines) == height
    assert all(line.cell_len <= width for line in lines)
    return "\n".join(line.plain for line in lines)


def test_runs_are_told_apart_without_colours() -> None:
    rising = [(step, float(step)) for step in range(1, 60)]
    falling = [(step, 60.0 - step) for step in range(1, 60)]
    text = plain(Panel("rate", [Curve(0, rising), Curve(1, falling)]))
    rows = text.split("\n")
    assert rows[1].rstrip().endswith(SIGNS[0])
    assert rows[-2].rstrip().endswith(SIGNS[1])
    assert text.count(SIGNS[0]) == text.count(SIGNS[1]) == 1


def test_validations_are_told_from_training() -> None:
    loss = Panel("loss", [Curve(0, [(1, 9.0), (100, 2.0)]), Curve(0, [(50, 4.0), (100, 3.0)], validation=True)])
    heading, *rows = plain(loss).split("\n")
    assert heading == f" loss  {SIGNS[0]} training  {VALIDATIONS[0]} validation"
    assert "".join(rows).count(VALIDATIONS[0]) == 2
    assert heading.split()[0] not in plain(Panel("bleu", [Curve(0, [(1, 1.0)], validation=True)]))


def test_many_validations_leave_room_between_their_signs() -> None:
    text = plain(Panel("bleu", [Curve(0, [(step, float(step)) for step in range(1, 500)], validation=True)]), 40)
    assert 5 < text.count(VALIDATIONS[0]) < 14
    assert VALIDATIONS[0] in text.split("\n")[1]  # the last is there in any case


def test_the_axis_of_steps_has_round_numbers_below_their_places() -> None:
    bottom = plain(Panel("norm", [Curve(0, [(1, 1.0), (1000, 5.0)])]), 60, 6).split("\n")[-1]
    assert re.fullmatch(r" +└step 0─+250─+500─+750─+1k", bottom)
    for step in (250, 500, 750):
        assert abs(bottom.index(str(step)) + 1 - (6 + 53 * step / 1000)) < 2
