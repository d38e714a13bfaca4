"""Tokenization of HTML as browsers do it (WHATWG), without loss: the tokens of a page, however broken, are the page."""

from __future__ import annotations

import re
from collections.abc import Iterator
from html import unescape
from typing import Literal, NamedTuple

VOID_ELEMENTS = frozenset(
    {"area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "source", "track", "wbr"}
)
TEXT_ELEMENTS = frozenset({"textarea", "title"})  # contain text without markup
RAW_ELEMENTS = frozenset({"iframe", "noembed", "noframes", "script", "style", "xmp"})  # contain nothing to translate
END_TAGS = {name: re.compile(rf"</{name}(?=[ \t\n\f\r/>])", re.IGNORECASE) for name in TEXT_ELEMENTS | RAW_ELEMENTS}
# Possessive quantifiers (*+) never backtrack, so a match that fails takes linear time.
ATTRIBUTE_PATTERN = re.compile(
    r"""(?P<attribute>[^ \t\n\f\r/>][^ \t\n\f\r/>=]*+)
        (?:[ \t\n\f\r]*+=[ \t\n\f\r]*+
            (?P<value>"[^"]*+(?:"|\Z)|'[^']*+(?:'|\Z)|[^ \t\n\f\r>"'][^ \t\n\f\r>]*+|(?=>)))?+""",
    re.VERBOSE,
)
MARKUP_START = re.compile(r"<(?=[A-Za-z!?]|/.)", re.DOTALL)
MARKUP_PATTERN = re.compile(
    rf"""<!--(?:-?>|.*?--!?>)
        |<(?P<slash>/?)(?P<name>[A-Za-z][^ \t\n\f\r/>]*+)(?P<rest>(?:[ \t\n\f\r/]++|{ATTRIBUTE_PATTERN.pattern})*+)>
        |<(?:\?|!(?!--)|/(?![A-Za-z]))[^>]*+>""",
    re.VERBOSE | re.DOTALL,
)
NUMERIC_REFERENCE = re.compile("(?<=&#)[0-9]++")
TokenKind = Literal["text", "start", "end", "other"]


class HtmlToken(NamedTuple):
    """A part of a page, from `first` to before `end`.

    kind: `other` is a comment, a declaration, the content of a script, or markup that never ends. name: of a tag, in
    lower case; of text in an element that contains no markup (title), the name of the element. rest: where the
    attributes of a tag start.
    """

    kind: TokenKind
    first: int
    end: int
    name: str = ""
    rest: int = 0


class HtmlAttribute(NamedTuple):
    """An attribute of a tag. first, end: the range of its value in the page, with quotes."""

    name: str
    value: str
    first: int
    end: int


def html_tokens(page: str) -> Iterator[HtmlToken]:
    """Yield the tokens of a page, none of which is empty. Markup that never ends extends to the end."""
    position = 0
    while start := MARKUP_START.search(page, position):
        if start.start() > position:
            yield HtmlToken("text", position, start.start())
        markup = MARKUP_PATTERN.match(page, start.start())
        position = markup.end() if markup else len(page)
        if not markup or not markup["name"]:
            yield HtmlToken("other", start.start(), position)
            continue
        name = markup["name"].lower()
        kind: TokenKind = "end" if markup["slash"] else "start"
        yield HtmlToken(kind, start.start(), position, name, markup.start("rest"))
        if kind == "start" and name in END_TAGS:
            end_tag = END_TAGS[name].search(page, position)
            end = end_tag.start() if end_tag else len(page)
            if end > position:
                yield HtmlToken("text" if name in TEXT_ELEMENTS else "other", position, end, name)
            position = end
    if position < len(page):
        yield HtmlToken("text", position, len(page))


def html_attributes(page: str, tag: HtmlToken) -> dict[str, HtmlAttribute]:
    """Return the attributes of a start tag by name in lower case; of several with the same name, the first counts."""
    attributes = dict[str, HtmlAttribute]()
    for match in ATTRIBUTE_PATTERN.finditer(page, tag.rest, tag.end - 1):
        name, raw = match["attribute"].lower(), match["value"]
        first, end = match.span("value") if raw is not None else (match.end(), match.end())
        value = raw.strip(raw[0]) if raw and raw[0] in "\"'" else raw or ""
        attributes.setdefault(name, HtmlAttribute(name, unescape_html(value), first, end))
    return attributes


def unescape_html(text: str) -> str:
    """Replace character references. Long numbers are shortened to 8 digits, enough to see that they are invalid."""
    return unescape(NUMERIC_REFERENCE.sub(lambda digits: digits[0].lstrip("0")[:8] or "0", text))
