"""The HTML page of a comparison, parsed as a browser does."""

import re
from pathlib import Path

import pytest

from unit.html_elements import Elements
from unit.test_compare import FAST_SETTINGS, GOOD, comparison_data, example_comparison
from weft.core.errors import UserError
from weft.core.templates import template_environment
from weft.metrics.comparison import Comparison, ComparisonSettings, ScoreBucket, compare_systems
from weft.metrics.references import ComparisonData, SystemOutput
from weft.metrics.scores import MetricOptions
from weft.visualize.comparison_page import comparison_page, write_comparison_page
from weft.visualize.sentence_examples import find_edits


def test_text_is_escaped() -> None:
    source = comparison_page(example_comparison(), "chrf", 4)
    elements = Elements(source)
    assert not {"script", "b", "img", "link", "iframe"} & set(elements.names)
    assert "a dog <script>alert(1)</script> ran" in elements.words
    assert "ein <b>Hund</b>" in elements.words
    assert 'sie sagte "nein"' in "".join(elements.words)


def render_macro(name: str, *values: object) -> str:
    """Render a template macro with the given values."""
    source = f'{{% from "macros.html.jinja" import {name} with context %}}{{{{ {name}(*values) }}}}'
    return template_environment("weft.visualize").from_string(source).render(contents=[], values=values)


def highlight(output: str, references: list[str], options: MetricOptions) -> str:
    return render_macro("highlighted", find_edits(output, references, options))


def test_attribute_values_are_escaped() -> None:
    name = '" onclick="alert(1)'
    found = Elements(render_macro("source", name, {name: 'x" onerror="alert(1)'}))
    assert found.attributes == [("class", "source-image"), ("src", 'x" onerror="alert(1)'), ("alt", f"image: {name}")]
    assert "a\ufffd\ufffd[1m\ufffdb" in render_macro("source", "a\x00\x1b[1m\ud800b", {})


def test_page_is_self_contained() -> None:
    source = comparison_page(example_comparison(), "chrf", 4)
    elements = Elements(source)
    assert not {"src", "onclick"} & {name for name, _ in elements.attributes}
    anchors = {f"#{value}" for name, value in elements.attributes if name == "id"}
    assert {value for name, value in elements.attributes if name == "href"} == anchors != set()
    assert "url(" not in source
    assert "@import" not in source
    assert "prefers-color-scheme: dark" in source


def test_differences_are_highlighted() -> None:
    assert highlight("a x c", ["a b c d"], MetricOptions()) == (
        'a <mark title="instead of b">x<small>b</small></mark> c <del title="missing: only in the reference">d</del>'
    )
    assert highlight("a b c", ["z z z", "a"], MetricOptions()) == 'a <ins title="not in the reference">b c</ins>'
    assert "(empty)" in highlight("", [""], MetricOptions())


def test_highlighting_follows_metric_options() -> None:
    assert highlight("The cat.", ["the Cat."], MetricOptions(lowercase=True)) == "The cat."
    assert highlight("The", ["the"], MetricOptions()) == '<mark title="instead of the">The<small>the</small></mark>'
    assert highlight("a cat", ["a cat."], MetricOptions()) == (
        'a cat<del title="missing: only in the reference">.</del>'
    )
    whole, letters = (highlight("天気", ["天候"], MetricOptions(tokenize=name)) for name in ("none", "zh"))
    assert "<small>天候</small>" in whole
    assert letters == '天<mark title="instead of 候">気<small>候</small></mark>'
    assert highlight("say &quot;no&quot;", ['say "no"'], MetricOptions()) == "say &#34; no &#34;"  # 13a tokens


def test_bar_lengths_are_proportional_to_scores() -> None:
    buckets = [ScoreBucket("0-10", 1200, (50.0, 0.0)), ScoreBucket("11+", 1, (25.0, -1.0))]
    elements = Elements(render_macro("bars", buckets, ["a", "b"], "lines"))
    shares = [value for name, value in elements.attributes if name == "style"]
    assert shares == ["--share: 1.0000", "--share: 0.0000", "--share: 0.5000", "--share: 0.0000"]
    text = "".join(elements.words)
    for value in ("1,200 lines", "1 lines", "0-10", "11+", " 50.0", " 25.0", " -1.0"):
        assert value in text
    assert [word for word in elements.words if word.endswith(": ")] == ["a: ", "b: ", "a: ", "b: "]


def test_worst_best_and_differing_sentences() -> None:
    source = comparison_page(example_comparison(), "chrf", 1)

    def lines(heading: str) -> list[str]:
        part = source.split(f">{heading}</h")[1].split("<h")[0]
        return re.findall(r"Line (\d+)", part)

    assert lines("system-2 better than system-1") == ["4"]
    assert lines("system-2 worse than system-1") == ["2"]
    assert lines("Best sentences, by the mean over the systems") == ["4"]
    assert lines("Worst sentences, by the mean over the systems") == ["1"]


def test_only_significant_differences_are_colored() -> None:
    references = [f"number {number}" for number in range(12)]
    right, wrong = SystemOutput("right", references), SystemOutput("wrong", ["no"] * 12)
    settings = ComparisonSettings(metrics=["wer", "exact"], samples=100, trials=200)
    for systems, style in (([wrong, right], "better"), ([right, wrong], "worse")):
        found = compare_systems(ComparisonData(systems, [[line] for line in references]), settings)
        styles = [value for name, value in Elements(comparison_page(found, "chrf", 1)).attributes if name == "class"]
        assert [value for value in styles if value in ("better", "worse")] == [style, style]
    assert not {"better", "worse"} & {
        value for _, value in Elements(comparison_page(example_comparison(), "chrf", 1)).attributes
    }


def test_page_for_a_single_system() -> None:
    source = comparison_page(compare_systems(comparison_data(GOOD), FAST_SETTINGS), "chrf", 2)
    assert "Largest differences" not in source
    assert "the first system" not in source
    assert "1 system on 4 lines" in source


def test_sentences_ranked_by_an_error_rate() -> None:
    sentences = example_comparison().sentence_scores("wer")
    assert sentences.better == "lower"
    assert (sentences.goodness() == -sentences.scores).all()
    assert "their wer (lower is better)" in comparison_page(example_comparison(), "wer", 1)


def test_unwritable_page_is_reported_before_scoring(tmp_path: Path) -> None:
    def compute() -> Comparison:
        raise AssertionError

    with pytest.raises(UserError, match="there is no folder"):
        write_comparison_page(compute, tmp_path / "none" / "page.html", "chrf", 3)
