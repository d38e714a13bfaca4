"""The page about a comparison: what a browser makes of it."""

import re
from html.parser import HTMLParser
from pathlib import Path

import pytest

from unit.test_compare import FEW, GOOD, compared, material
from weft.core.errors import UserError
from weft.markup.elements import element, text
from weft.metric.breakdown import Class
from weft.metric.compare import Comparison, Settings, compare
from weft.metric.lines import Options
from weft.metric.material import Material, System
from weft.report.bars import bars
from weft.report.differences import marked
from weft.report.page import compare_on_page, page


class Elements(HTMLParser):
    """What a browser makes of a page."""

    def __init__(self, source: str):
        super().__init__()
        self.names: list[str] = []
        self.attributes: list[tuple[str, str | None]] = []
        self.words: list[str] = []
        self.feed(source)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.names.append(tag)
        self.attributes += attrs

    def handle_data(self, data: str) -> None:
        self.words.append(data)


def test_text_stays_text_on_the_page() -> None:
    source = page(compared(), "chrf", 4)
    seen = Elements(source)
    assert not {"script", "b", "img", "link", "iframe"} & set(seen.names)
    assert "a dog <script>alert(1)</script> ran" in seen.words
    assert "ein <b>Hund</b>" in seen.words
    assert 'sie sagte "nein"' in "".join(seen.words)


def test_a_name_cannot_break_out_of_an_attribute_either() -> None:
    found = Elements(element("span", "x", attributes={"title": '" onclick="alert(1)'}).source)
    assert found.attributes == [("title", '" onclick="alert(1)')]
    assert text("a\x00\x1b[1m\ud800b").source == "a\ufffd\ufffd[1m\ufffdb"


def test_the_page_needs_nothing_else() -> None:
    source = page(compared(), "chrf", 4)
    seen = Elements(source)
    assert not {"src", "onclick"} & {name for name, _ in seen.attributes}
    places = {f"#{value}" for name, value in seen.attributes if name == "id"}
    assert {value for name, value in seen.attributes if name == "href"} == places != set()
    assert "url(" not in source
    assert "@import" not in source
    assert "prefers-color-scheme: dark" in source


def test_what_differs_is_marked() -> None:
    assert marked("a x c", ["a b c d"], Options()).source == (
        'a <mark title="instead of b">x<small>b</small></mark> c <del title="missing: stands in the reference">d</del>'
    )
    assert marked("a b c", ["z z z", "a"], Options()).source == 'a <ins title="not in the reference">b c</ins>'
    assert "(empty)" in marked("", [""], Options()).source


def test_case_and_words_are_marked_as_the_options_say() -> None:
    assert marked("The cat.", ["the Cat."], Options(lowercase=True)).source == "The cat."
    assert marked("The", ["the"], Options()).source == '<mark title="instead of the">The<small>the</small></mark>'
    assert marked("a cat", ["a cat."], Options()).source == (
        'a cat<del title="missing: stands in the reference">.</del>'
    )
    whole, letters = (marked("天気", ["天候"], Options(tokenize=name)).source for name in ("none", "zh"))
    assert "<small>天候</small>" in whole
    assert letters == '天<mark title="instead of 候">気<small>候</small></mark>'
    assert marked("say &quot;no&quot;", ['say "no"'], Options()).source == "say &quot; no &quot;"  # as 13a has it


def test_bars_are_as_long_as_scores() -> None:
    seen = Elements(bars([Class("0-10", 1200, (50.0, 0.0)), Class("11+", 1, (25.0, -1.0))], ["a", "b"], "lines").source)
    shares = [value for name, value in seen.attributes if name == "style"]
    assert shares == ["--share: 1.0000", "--share: 0.0000", "--share: 0.5000", "--share: 0.0000"]
    assert "1,200 lines" in seen.words
    assert [word for word in seen.words if word.endswith(": ")] == ["a: ", "b: ", "a: ", "b: "]


def test_worst_best_and_differing_sentences() -> None:
    source = page(compared(), "chrf", 1)

    def lines(heading: str) -> list[str]:
        part = source.split(f">{heading}</h")[1].split("<h")[0]
        return re.findall(r"Line (\d+)", part)

    assert lines("system-2 better than system-1") == ["4"]
    assert lines("system-2 worse than system-1") == ["2"]
    assert lines("Best sentences, in the mean of the systems") == ["4"]
    assert lines("Worst sentences, in the mean of the systems") == ["1"]


def test_only_clear_differences_are_in_colour() -> None:
    wanted = [f"number {number}" for number in range(12)]
    right, wrong = System("right", wanted), System("wrong", ["no"] * 12)
    settings = Settings(metrics=["wer", "exact"], samples=100, trials=200)
    for systems, style in (([wrong, right], "better"), ([right, wrong], "worse")):
        found = compare(Material(systems, [[line] for line in wanted]), settings)
        styles = [value for name, value in Elements(page(found, "chrf", 1)).attributes if name == "class"]
        assert [value for value in styles if value in ("better", "worse")] == [style, style]
    assert not {"better", "worse"} & {value for _, value in Elements(page(compared(), "chrf", 1)).attributes}


def test_one_system_alone_has_a_page() -> None:
    source = page(compare(material(GOOD), FEW), "chrf", 2)
    assert "differ most" not in source
    assert "the first system" not in source
    assert "1 system on 4 lines" in source


def test_sentences_by_a_metric_of_errors() -> None:
    sentences = compared().sentences("wer")
    assert sentences.better == "lower"
    assert (sentences.goodness() == -sentences.scores).all()
    assert "its wer (the lower, the better)" in page(compared(), "wer", 1)


def test_a_page_that_cannot_be_written_is_told_before_the_work(tmp_path: Path) -> None:
    def work() -> Comparison:
        raise AssertionError

    with pytest.raises(UserError, match="there is no folder"):
        compare_on_page(work, tmp_path / "none" / "page.html", "chrf", 3)
