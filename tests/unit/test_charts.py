"""Charts and squares on a page: axes, lines, what is told to those who cannot see them."""

import math
import re

import numpy as np
import pytest

from unit.test_comparison_page import Elements
from weft.inspect.columns import Seen
from weft.inspect.grid import Grid
from weft.report.axes import axis, figure, from_nothing, short, wide_axis
from weft.report.chart import Chart, Frame, Line, drawn, thinned, told
from weft.report.squares import small, squares
from weft.text.words import Span

GRID = Grid(("a b",), (), ("Ein", "<end>"), ("a", "<end>"), np.array([[0.9, 0.1], [0.0, 0.6]]), "attention weight")


@pytest.mark.parametrize(
    ("values", "ticks"),
    [
        ([2.3, 8.9], [2, 4, 6, 8, 10]),
        ([0.0, 0.004], [0, 0.001, 0.002, 0.003, 0.004]),
        ([7.0, 7.0], [2, 4, 6, 8, 10, 12]),
        ([0.0, 0.0], [0, 0.2, 0.4, 0.6, 0.8, 1]),
        ([-3.0, 1.0], [-3, -2, -1, 0, 1]),
    ],
)
def test_ticks_are_round_and_hold_all_values(values: list[float], ticks: list[float]) -> None:
    assert axis(values).ticks == pytest.approx(ticks)


def test_what_goes_over_powers_of_ten_is_drawn_so() -> None:
    far = wide_axis([0.02, 300.0])
    assert far.logarithmic
    assert far.ticks == (0.1, 1.0, 10.0, 100.0)
    assert far(math.sqrt(0.02 * 300)) == pytest.approx(0.5)
    assert not wide_axis([1.0, 20.0]).logarithmic
    assert not wide_axis([0.0, 300.0]).logarithmic
    assert from_nothing([28.0, 31.0]).low == 0


def test_numbers_fit_an_axis() -> None:
    assert [short(value) for value in (0, 0.004, 4e-05, 2.5, 1500, 25_000)] == [
        "0",
        "0.004",
        "4e-05",
        "2.5",
        "1,500",
        "25k",
    ]
    assert [figure(value) for value in (1386.4, 26.93, 0.00125)] == ["1,386", "26.9", "0.00125"]


def test_thousands_of_points_become_few_and_no_peak_is_lost() -> None:
    points = [(float(step), 1.0) for step in range(10_000)]
    points[7_777] = (7_777.0, 99.0)
    few = thinned(points, 100)
    assert len(few) <= 100
    assert (7_777.0, 99.0) in few
    assert few == sorted(few)


def test_a_chart_is_drawn_and_told() -> None:
    line = Line("training", 0, [(1.0, 8.0), (50.0, 4.0), (100.0, 2.0)])
    chart = Chart("Loss", [line, Line("validation", 1, [(50.0, 5.0)])], axis([2.0, 8.0]), ("clipped to", 3.0))
    assert told(chart) == "Loss over the steps. training: from 8 at step 1 to 2 at step 100. validation: 5 at step 50."
    seen = Elements(drawn(chart, Frame(100, best=50, noted=[101])).source)
    assert ("role", "img") in seen.attributes
    assert ("aria-label", told(chart)) in seen.attributes
    assert "step 50, training 4, validation 5" in seen.words
    assert "clipped to 3" in seen.words
    paths = [value or "" for name, value in seen.attributes if name == "d"]
    numbers = [float(number) for path in paths for number in re.findall(r"\d+\.\d", path)]
    assert max(numbers) <= 440  # even what was noted after the last report


def test_squares_are_named_and_the_darkest_is_full() -> None:
    seen = Elements(squares(GRID).source)
    said = "attention weight, for each row the column that has most. Ein: a; <end>: <end>"
    assert ("aria-label", said) in seen.attributes
    assert [value for name, value in seen.attributes if name == "fill-opacity"] == ["1.00", "0.11", "0.67"]
    assert "Ein, a: 0.90" in seen.words


def test_squares_stand_below_the_picture_that_was_read() -> None:
    ink = np.zeros((8, 4), np.uint8)
    found = squares(GRID, Seen(ink, columns=2.0), [Span("x", 0, 1)]).source
    seen = Elements(found)
    (address,) = [value or "" for name, value in seen.attributes if name == "href"]
    assert address.startswith("data:image/png;base64,")
    assert "x" in seen.words
    assert "a" not in seen.words  # columns of a picture have no names of their own


def test_small_squares_are_one_path_a_darkness() -> None:
    seen = Elements(small(GRID.values, "layer 1, head 2").source)
    assert sorted(value or "" for name, value in seen.attributes if name == "d") == [
        "M0 0h1v1h-1z",
        "M1 0h1v1h-1z",
        "M1 1h1v1h-1z",
    ]
    assert "layer 1, head 2" in seen.words


def test_thousands_of_squares_are_few_elements() -> None:
    names = tuple(map(str, range(100)))
    seen = Elements(squares(GRID._replace(rows=names, columns=names, values=np.full((100, 100), 0.01))).source)
    assert seen.names.count("rect") == seen.names.count("path") == 1
    assert seen.names.count("text") == 200
