"""SVG figures for HTML pages: complete, self-contained and escaped."""

import re
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest
from matplotlib.figure import Figure
from rich.console import Console

from unit.html_elements import Elements
from weft.checkpoints.run_log import TrainingHistory
from weft.core.errors import UserError
from weft.core.extras import EXTRA_MODULES
from weft.metrics.comparison import Comparison
from weft.text.word_alignment import TokenSpan
from weft.visualize.comparison_page import write_comparison_page
from weft.visualize.figures import PAGE_COLORS, SERIES_COLORS, check_figure_path, page_svg
from weft.visualize.heatmap import Heatmap, SourceImage, heatmap_svg
from weft.visualize.report_curves import (
    AxisKind,
    LineChart,
    Series,
    StepAxis,
    chart_svg,
    describe_chart,
    draw_chart,
    format_value,
    training_charts,
)
from weft.visualize.run_monitor import format_tick
from weft.visualize.terminal_dashboard import print_dashboard, run_dashboard

WEIGHTS = Heatmap(
    ("a b",), (), ("Ein", "<end>"), ("a", "<end>"), np.array([[0.9, 0.1], [0.0, 0.6]]), "attention weight"
)
LOSS = LineChart(
    "Loss",
    [Series("training", 0, [(1, 8.0), (50, 4.0), (100, 2.0)]), Series("validation", 1, [(50, 5.0)])],
    "linear",
    3.0,
)


def test_chart_is_drawn_and_described() -> None:
    description = "Loss over the steps. training: from 8 at step 1 to 2 at step 100. validation: 5 at step 50."
    assert describe_chart(LOSS) == description
    elements = Elements(chart_svg(LOSS, StepAxis(100, best=50, diagnosed=[101])))
    assert ("role", "img") in elements.attributes
    assert ("aria-label", description) in elements.attributes
    for text in ("step 1, training 8", "step 50, training 4, validation 5", "step 100, training 2", "clipped to 3"):
        assert text in elements.words
    styles = " ".join(value or "" for name, value in elements.attributes if name == "style")
    assert "var(--s0)" in styles
    assert "var(--s1)" in styles


def test_all_series_share_the_step_axis() -> None:
    axes = draw_chart(LOSS, StepAxis(200, best=50, diagnosed=[201])).axes[0]
    assert axes.get_xlim() == (0, 200)
    drawn = [np.column_stack(line.get_data()).tolist() for line in axes.lines]
    for series in LOSS.series:
        assert [list(map(float, point)) for point in series.points] in drawn
    assert [200.0, 1.02] in [points[0] for points in drawn]  # a failed step is marked at the last step


@pytest.mark.parametrize(
    ("axis", "values", "scale", "lowest"),
    [
        ("log", [0.02, 300.0], "log", None),
        ("log", [1.0, 20.0], "linear", None),
        ("log", [0.0, 300.0], "linear", None),
        ("from zero", [28.0, 31.0], "linear", 0.0),
        ("from zero", [0.0, 0.0], "linear", 0.0),
        ("linear", [7.0, 7.0], "linear", None),
    ],
)
def test_axis_scale_depends_on_values(axis: AxisKind, values: list[float], scale: str, lowest: float | None) -> None:
    chart = LineChart("x", [Series("x", 0, list(enumerate(values)))], axis)
    axes = draw_chart(chart, StepAxis(1)).axes[0]
    low, high = axes.get_ylim()
    assert axes.get_yscale() == scale
    assert low <= min(values) <= max(values) <= high
    assert lowest in (None, low)


def test_downsampling_keeps_peaks() -> None:
    points = [(step, 1.0) for step in range(10_000)]
    points[7_777] = (7_777, 99.0)
    chart = LineChart("x", [Series("x", 0, points)], "linear")
    drawn = np.column_stack(draw_chart(chart, StepAxis(10_000)).axes[0].lines[0].get_data()).tolist()
    assert len(drawn) <= 1000
    assert [7_777.0, 99.0] in drawn
    assert len(chart_svg(chart, StepAxis(10_000))) < 40_000


def test_values_and_ticks_are_short() -> None:
    assert [format_value(value) for value in (1386.4, 26.93, 0.00125)] == ["1,386", "26.9", "0.00125"]
    ticks = {0: "0", 0.25: "0.25", 12.0: "12", 4500: "4.5k", 2e6: "2M", 2e-4: "2e-4", -1.5: "-1.5"}
    assert [format_tick(value) for value in ticks] == list(ticks.values())


def test_training_charts_cover_all_logged_values() -> None:
    history = TrainingHistory()
    report = {"loss": 3.0, "accuracy": 10.0, "learning_rate": 1e-3, "gradient_norm": 2.0, "tokens_per_second": 9.0}
    history.add({"step": 1, **report})
    statistics = {"repetition": 2.0, "repetition_of_references": 1.0, "copy": 0.0}
    scores = {"loss": 2.5, "perplexity": 12.0, "bleu": 3.0, "ter": 90.0, "output_statistics": statistics}
    history.add({"step": 1, "validation": scores})
    charts = {chart.title: [series.name for series in chart.series] for chart in training_charts(history, 1.0)}
    assert list(charts.values()) == [
        ["training", "validation"],
        ["bleu"],
        ["ter"],
        ["training"],
        ["perplexity"],
        ["learning rate"],
        ["gradient norm"],
        ["tokens per second"],
        ["repeated", "repeated in references", "copied"],
    ]
    assert list(training_charts(TrainingHistory(), None)) == []


def figures() -> Iterator[str]:
    yield chart_svg(LOSS, StepAxis(100))
    yield heatmap_svg(WEIGHTS)
    posteriors = WEIGHTS._replace(value_name="probability")
    yield heatmap_svg(posteriors, SourceImage(np.zeros((8, 4), np.uint8), 2.0), [TokenSpan("x", 0, 1)])


def test_figures_are_self_contained() -> None:
    for source in figures():
        elements = Elements(source)
        assert not {"script", "style", "metadata"} & set(elements.names)
        assert not re.search(r"url\(|@import|https?:|xmlns|font-family", source)
        assert "id" not in {name for name, _ in elements.attributes}  # several figures fit into one page
        links = [value or "" for name, value in elements.attributes if name == "href"]
        assert all(link.startswith("data:image/png;base64,") for link in links)


def test_figures_are_deterministic() -> None:
    assert list(figures()) == list(figures())


def test_figures_use_page_colors() -> None:
    assert [PAGE_COLORS[color] for color in SERIES_COLORS] == [f"var(--s{number})" for number in range(6)]
    styles = [value or "" for name, value in Elements(chart_svg(LOSS, StepAxis(100))).attributes if name == "style"]
    assert not any(re.search("#[0-9a-f]{6}", style) for style in styles)


def test_text_is_escaped() -> None:
    def draw() -> Figure:
        figure = Figure()
        figure.text(0, 0, "<b>&amp;</b>", gid="hover:<i>")
        return figure

    elements = Elements(page_svg(draw, 'a "b" <c>'))
    assert not {"b", "i", "c"} & set(elements.names)
    assert ("aria-label", 'a "b" <c>') in elements.attributes
    assert "<b>&amp;</b>" in elements.words
    assert "<i>" in elements.words


def test_cells_have_labels_and_values() -> None:
    elements = Elements(heatmap_svg(WEIGHTS))
    description = "attention weight; the largest column of each row: Ein: a; <end>: <end>"
    assert ("aria-label", description) in elements.attributes
    for text in ("Ein, a: 0.90", "Ein, <end>: 0.10", "<end>, <end>: 0.60", "attention weight"):
        assert text in elements.words
    assert "<end>, a: 0.00" not in elements.words
    assert "a b" not in elements.words  # the title is in the page text
    assert elements.words.count("Ein") == elements.words.count("a") == 1


def test_heatmap_cells_are_below_the_source_image() -> None:
    elements = Elements(heatmap_svg(WEIGHTS, SourceImage(np.zeros((8, 4), np.uint8), 2.0), [TokenSpan("x", 0, 1)]))
    assert elements.names.count("image") == 3  # the source, the cells, the color bar
    assert "x" in elements.words
    assert "a" not in elements.words  # columns of an image have no names


def test_large_heatmap_has_few_elements() -> None:
    names = tuple(map(str, range(100)))
    large = WEIGHTS._replace(rows=names, columns=names, values=np.full((100, 100), 0.01))
    elements = Elements(heatmap_svg(large))
    assert "title" not in elements.names
    assert len(elements.names) < 1500
    assert all(elements.words.count(name) == 2 for name in names[2:])


def fail() -> Comparison:
    raise AssertionError


@pytest.mark.parametrize(
    "command",
    [
        lambda: check_figure_path(Path("a.png")),
        lambda: write_comparison_page(fail, Path("page.html"), "chrf", 3),
        lambda: print_dashboard([], Console()),
        lambda: run_dashboard([], Console()),
    ],
)
def test_missing_packages_are_named_with_their_extra(
    command: Callable[[], object], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(EXTRA_MODULES, "plots", ("no_such_package",))
    with pytest.raises(UserError, match=r"no_such_package.*pip install 'weft\[plots\]'"):
        command()
