"""Texts with spans: found, replaced by tags, cut and restored."""

from random import Random

import pytest

from weft.text.marked_text import (
    CLOSE_TAGS,
    OPEN_TAGS,
    SINGLE_TAGS,
    MarkedText,
    replace_spans,
    restore_spans,
)
from weft.text.span_patterns import SPAN_KINDS, find_spans

ALL = SPAN_KINDS


def roles(line: str) -> list[tuple[str, str]]:
    return [(span.text, span.role) for span in find_spans(line, ALL)]


def test_elements_are_paired_and_nested() -> None:
    assert roles("<a><b>x</a></b>") == [("<a>", "open"), ("<b>", "single"), ("</a>", "close"), ("</b>", "single")]
    assert roles("<B>x</b><br/><i>") == [("<B>", "open"), ("</b>", "close"), ("<br/>", "single"), ("<i>", "single")]
    assert roles("<b><b>x</b>") == [("<b>", "single"), ("<b>", "open"), ("</b>", "close")]


@pytest.mark.parametrize(
    ("line", "found"),
    [
        ("{n, plural, one {# file} other {{n} files}} left", ["{n, plural, one {# file} other {{n} files}}"]),
        ("{n, plural, one {# file}", []),
        ("100 %% of %lld %zu %1$s %(name)05d %@", ["100", "%%", "%lld", "%zu", "%1$s", "%(name)05d", "%@"]),
        ("100% sure, %s%s", ["100", "%s", "%s"]),
        ("#{x} %{count} {% if a %} [X7X]", ["#{x}", "%{count}", "{% if a %}", "[X7X]"]),
        ("ok 👍🏽 👨‍👩‍👧 🇩🇪!", ["👍🏽", "👨‍👩‍👧", "🇩🇪"]),
    ],
)
def test_spans_are_found(line: str, found: list[str]) -> None:
    assert [span.text for span in find_spans(line, ALL)] == found


def test_patterns_take_linear_time() -> None:
    """A quadratic pattern would take minutes here."""
    for text in (
        "%" + "0" * 200_000,
        "1\u00a0" * 100_000,
        "<a" * 100_000,
        "{" * 200_000,
        "<a>" * 50_000 + "</b>" * 50_000,
    ):
        assert isinstance(find_spans(text, ALL), list)
    for text in ("{a, b, " * 30_000, "a@" * 100_000, "http://" * 30_000, "👍\u200d" * 50_000):
        assert isinstance(find_spans(text, ALL), list)


def test_every_span_becomes_one_tag_and_returns() -> None:
    draws = Random(1)
    pieces = ["<b>", "</b>", "<i>", "</i>", "<br/>", "%s", "{x}", "word ", " ", ". ", "\U0010ff00", "👍", "5"]
    for _ in range(2000):
        line = "".join(draws.choices(pieces, k=draws.randrange(12)))
        marked = MarkedText.find(line, ALL)
        assert "".join(part if isinstance(part, str) else part.text for part in marked.parts()) == line
        tagged = replace_spans(marked)
        if tagged is None:
            assert len(marked.spans) > len(OPEN_TAGS)
            continue
        assert len(tagged.spans) == len(marked.spans)
        restored = tagged.restore(tagged.text)
        clean = line.replace("\U0010ff00", "\ufffd")
        assert restored is not None
        assert restored.text == clean
        assert restored.spans == MarkedText.find(clean, ALL).spans


def test_broken_outputs_are_refused() -> None:
    tagged = replace_spans(MarkedText.find("<b>a</b> <i>b</i> {x}", ALL))
    assert tagged is not None
    single, (b, i), (close_b, close_i) = SINGLE_TAGS[0], OPEN_TAGS[:2], CLOSE_TAGS[:2]
    assert tagged.text == f"{b}a{close_b} {i}b{close_i} {single}"
    for output in (
        f"{b}a{close_b} {i}b{close_i}",  # one is missing
        f"{b}a{close_b} {i}b{close_i} {single}{single}",  # one is repeated
        f"{b}a{i}b{close_b} {close_i} {single}",  # not nested
        f"{close_b}a{b} {i}b{close_i} {single}",  # closed before it is opened
        f"{b}a{close_b} {i}b{close_i} {single}{SINGLE_TAGS[1]}",  # one that the source lacks
    ):
        assert tagged.restore(output) is None
    assert restore_spans(f"x{single}y{SINGLE_TAGS[3]}", tagged.spans).text == "x{x}y"


def test_more_spans_than_tags() -> None:
    assert replace_spans(MarkedText.find("%s " * len(SINGLE_TAGS), ALL)) is not None
    assert replace_spans(MarkedText.find("%s " * (len(SINGLE_TAGS) + 1), ALL)) is None
    assert replace_spans(MarkedText.find("<b>x</b>" * (len(OPEN_TAGS) + 1), ALL)) is None


def test_slices_keep_offsets_and_lose_partners() -> None:
    marked = MarkedText.find("<b>One. Two</b> %s.", ALL)
    first, second = marked.slice(0, 7), marked.slice(8, len(marked.text))
    assert (first.text, [(span.text, span.role, span.first) for span in first.spans]) == (
        "<b>One.",
        [("<b>", "single", 0)],
    )
    assert [(span.text, span.role, span.first) for span in second.spans] == [("</b>", "single", 3), ("%s", "single", 8)]


def test_text_between_spans_is_escaped() -> None:
    marked = MarkedText.find("a & <b>b</b> < c", ALL)
    assert marked.render(lambda text: text.replace("&", "&amp;").replace("<", "&lt;")) == "a &amp; <b>b</b> &lt; c"
