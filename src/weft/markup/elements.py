"""HTML that cannot be broken by what stands in it: text becomes an element only through here."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from html import escape
from types import MappingProxyType
from typing import NamedTuple

NONE: Mapping[str, str] = MappingProxyType({})
SCROLLED: Mapping[str, str] = MappingProxyType({"tabindex": "0", "role": "group", "aria-label": "table"})


class Html(NamedTuple):
    """A piece of a page, written down safely."""

    source: str


def text(content: str) -> Html:
    """Whatever the text holds, it stays text; lines may hold control characters, which no page may."""
    return Html(escape("".join(letter if _allowed(letter) else "\N{REPLACEMENT CHARACTER}" for letter in content)))


def join(parts: Iterable[Html], between: str = "") -> Html:
    return Html(escape(between).join(part.source for part in parts))


def element(name: str, content: Html | str, style: str = "", attributes: Mapping[str, str] = NONE) -> Html:
    """<name class=style ...>content</name>; a string is text."""
    inner = text(content) if isinstance(content, str) else content
    given = {"class": style, **attributes} if style else attributes
    written = "".join(f' {key}="{text(value).source}"' for key, value in given.items())
    return Html(f"<{name}{written}>{inner.source}</{name}>")


def table(heads: Iterable[Html | str], rows: Iterable[Iterable[Html | str]], style: str = "") -> Html:
    """The first cell of each row is its heading. It scrolls by itself, by keys too, where the window is too narrow."""
    head = element("tr", join(_head(cell) for cell in heads))
    body = join(_row(list(row)) for row in rows)
    whole = element("table", join([element("thead", head), element("tbody", body)]), style)
    return element("div", whole, "wide", SCROLLED)


def _head(cell: Html | str) -> Html:
    """The corner above the headings of rows is empty, and no heading of anything."""
    return element("td" if cell in ("", text("")) else "th", cell)


def _row(cells: list[Html | str]) -> Html:
    first, *others = cells
    return element("tr", join([element("th", first), *(element("td", cell) for cell in others)]))


def _allowed(letter: str) -> bool:
    """What HTML may hold: neither control characters but tab, nor halves of surrogate pairs."""
    number = ord(letter)
    return letter == "\t" or (number >= 0x20 and not 0x7F <= number < 0xA0 and not 0xD800 <= number < 0xE000)
