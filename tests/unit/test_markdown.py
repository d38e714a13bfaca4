"""Markdown: texts are found with their markup as spans; markdown-it reads the same blocks and links afterwards."""

import time

import pytest
import yaml
from markdown_it import MarkdownIt

from unit.document_checks import change_words, check_mutations, fill, read, texts
from weft.documents.document import DocumentError
from weft.documents.markdown import MARKDOWN_FORMAT
from weft.text.marked_text import MarkedText

PAGE = rb"""---
title: "My page"
description: A good page
author: Me
---
# Hello *world* #

This is a **bold text** with `code here` and [a link](http://x.y "t"),
running over *two
lines*. See [ref] and [other][ref] & &amp; \* 2 * 3.

> Quote of **many *nested
> words* here**.
> - [ ] Task one
>   continues
> - Two with ![alt text](img.png)

Roses are red,@
violets are blue\
end

| Name | Val\|ue |
|------|:-----:|
| one cell | `a\|b` text |

```python
code
```

<div>
html
</div>

    indented code

[ref]: http://a.b "Title"
[^1]: A footnote here.

1. one
2. two

Setext title
============
**All bold.**
""".replace(b"@", b"  ")


def rendered(content: bytes) -> str:
    """What an independent reader makes of a page, without the front matter."""
    text = content.decode()
    return str(MarkdownIt("commonmark").enable("table").render(text.partition("---\n# ")[2]))


def test_units() -> None:
    assert texts(MARKDOWN_FORMAT, PAGE) == [
        "My page",
        "A good page",
        "Hello *world*",
        'This is a **bold text** with `code here` and [a link](http://x.y "t"), running over *two lines*. '
        r"See [ref][ref] and [other][ref] & &amp; \* 2 * 3.",
        "Quote of **many *nested words* here**.",
        "Task one continues",
        "Two with ![alt text](img.png)",
        "Roses are red,",
        "violets are blue",
        "end",
        "Name",
        r"Val\|ue",
        "one cell",
        r"`a\|b` text",
        "A footnote here.",
        "one",
        "two",
        "Setext title",
        "All bold.",
    ]
    assert read(MARKDOWN_FORMAT, PAGE).skipped == {"code": 2}


def test_roles_of_spans() -> None:
    spans = read(MARKDOWN_FORMAT, PAGE).units[4].text.spans
    assert [(span.text, span.role) for span in spans] == [
        ("**", "open"),
        ("*", "open"),
        ("*", "close"),
        ("**", "close"),
    ]


def test_blocks_links_and_code_stay() -> None:
    filled = fill(MARKDOWN_FORMAT, PAGE)
    assert filled.rejected == ()
    lower, again = rendered(PAGE), rendered(filled.content)
    lower = lower.replace("\n", " ").replace("<br /> ", "<br />")
    again = again.replace("\n", " ").replace("<br /> ", "<br />")
    assert again != lower
    assert again.lower() == lower.lower()
    for part in (b"author: Me", b"```python\ncode\n```", b'[ref]: http://a.b "Title"', b"RED,  \n", b"BLUE\\\n"):
        assert part in filled.content


def test_front_matter_is_yaml_afterwards() -> None:
    filled = fill(MARKDOWN_FORMAT, PAGE, lambda text: f'{text}: "new"').content
    values = yaml.safe_load(filled.decode().split("---\n")[1])
    assert values == {"title": 'My page: "new"', "description": 'A good page: "new"', "author": "Me"}


@pytest.mark.parametrize(
    "text",
    [
        "1. one",
        "# one",
        "- one",
        "> one",
        "*one",
        "one | two",
        "<b> one",
        "[ref] one",
        "`one",
        "== one",
        "a_b_",
        "&lt; one",
    ],
)
def test_text_is_never_read_as_markup(text: str) -> None:
    content = b"Hello\n\n[ref]: http://a.b\n\n| a | b |\n|---|---|\n| hello | b |\n"
    document = read(MARKDOWN_FORMAT, content)
    filled = document.fill([MarkedText(text), None, None, MarkedText(text), None])
    assert filled.rejected == ()
    tokens = MarkdownIt("commonmark").enable("table").parse(filled.content.decode())
    inline = [token.children or [] for token in tokens if token.type == "inline"]
    assert ["".join(child.content for child in children) for children in (inline[0], inline[3])] == [text, text]
    assert [child.type for child in inline[0]] == ["text"] * len(inline[0])


def test_misplaced_markup_is_rejected() -> None:
    document = read(MARKDOWN_FORMAT, b"A *b* c.\n")
    opening, closing = document.units[0].text.spans
    filled = document.fill([MarkedText.join(["x", opening, ", y", closing, "z"])])
    assert (filled.content, len(filled.rejected)) == (b"A *b* c.\n", 1)


def test_spaces_inside_of_emphasis_move_out() -> None:
    document = read(MARKDOWN_FORMAT, b"A *b* c.\n")
    opening, closing = document.units[0].text.spans
    filled = document.fill([MarkedText.join(["x", opening, " y ", closing, "z"])])
    assert filled.content == b"x *y* z\n"


@pytest.mark.parametrize("content", [b"caf\xe9", b"a\0b", b"a" * 2**23])
def test_damaged_files(content: bytes) -> None:
    with pytest.raises(DocumentError):
        read(MARKDOWN_FORMAT, content)


def test_damaged_copies() -> None:
    assert check_mutations(MARKDOWN_FORMAT, PAGE) > 50


@pytest.mark.parametrize(
    "content",
    [
        b">" * 20_000 + b"a",
        b"*a " * 20_000,
        b"a_b_ " * 10_000,
        b"[" * 20_000 + b"a" + b"]" * 20_000,
        b"[a](" * 20_000,
        b"<a" * 20_000,
        b"".join(b"`" * length + b"a" for length in range(300)),
        b"\\" * 50_000,
        b"&a" * 20_000,
    ],
    ids=range(9),
)
def test_hostile_texts_take_linear_time(content: bytes) -> None:
    started = time.process_time()
    document = read(MARKDOWN_FORMAT, content)
    document.fill([change_words(unit, lambda part: f"{part} x") for unit in document.units])
    assert time.process_time() - started < 10
