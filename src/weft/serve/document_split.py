"""Split plain text or HTML (tokenized as browsers do, see WHATWG) into lines to translate, and put translations back.

A line of HTML is the text of a block with its inline tags, which are spans, so that they do not cut sentences.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from html import escape, unescape
from typing import Literal, NamedTuple, TypeAlias

from weft.decoding.constraints.request import Request
from weft.inference.line_sentences import SplitLine
from weft.inference.translation import Translation
from weft.text.marked_text import MarkedText
from weft.text.span_patterns import Span, SpanKind, pair_elements

VOID_ELEMENTS = frozenset(
    {"area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "source", "track", "wbr"}
)
INLINE_ELEMENTS = frozenset(
    {
        "a", "abbr", "acronym", "b", "bdi", "bdo", "big", "button", "cite", "code", "data", "del", "dfn", "em", "font",
        "i", "img", "ins", "kbd", "label", "mark", "meter", "q", "s", "samp", "small", "span", "strike", "strong",
        "sub", "sup", "time", "tt", "u", "var", "wbr",
    }
)  # fmt: skip
PREFORMATTED_ELEMENTS = frozenset({"pre", "textarea", "listing"})  # their line breaks count
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


SegmentKind: TypeAlias = Literal["text", "lines", "inline", "opaque", "block"]


class HtmlSegment(NamedTuple):
    """A part of a page.

    kind: text; text whose line breaks count; a tag or comment within text; a part of an element within text that is
    not to be translated; anything else, which ends a line.
    """

    raw: str
    kind: SegmentKind


def html_segments(page: str) -> Iterator[HtmlSegment]:
    """Split a page, however broken it is. Markup that never ends extends to the end."""
    position, untranslated, preformatted = 0, _UntranslatedElement(), Counter[str]()
    while start_match := MARKUP_START.search(page, position):
        start = start_match.start()
        yield HtmlSegment(page[position:start], _text_kind(untranslated, preformatted))
        markup = MARKUP_PATTERN.match(page, start)
        position = markup.end() if markup else len(page)
        name = (markup["name"] or "").lower() if markup else ""
        was_opaque = bool(untranslated.depth)
        if markup and name:
            untranslated.read_tag(markup)
            if name in PREFORMATTED_ELEMENTS:
                preformatted[name] += -1 if markup["slash"] else 1
        is_opaque = was_opaque or bool(untranslated.depth)
        is_inline = name in INLINE_ELEMENTS or (markup is not None and page.startswith("<!--", start))
        kind: SegmentKind = "block" if not is_inline else "inline"
        if is_opaque:
            kind = "opaque" if untranslated.name in INLINE_ELEMENTS else "block"
        yield HtmlSegment(page[start:position], kind)
        content = _raw_content(page, markup) if markup and name else ""
        if content:
            is_text = not untranslated.depth and name in TEXT_ELEMENTS
            yield HtmlSegment(content, "lines" if is_text else "block")
            position += len(content)
    yield HtmlSegment(page[position:], _text_kind(untranslated, preformatted))


def _text_kind(untranslated: _UntranslatedElement, preformatted: Counter[str]) -> SegmentKind:
    if untranslated.depth:
        return "opaque" if untranslated.name in INLINE_ELEMENTS else "block"
    return "lines" if any(count > 0 for count in preformatted.values()) else "text"


def _raw_content(page: str, tag: re.Match[str]) -> str:
    """Return the content of an element that contains no markup; nothing for other elements."""
    end_tag = None if tag["slash"] else END_TAGS.get(tag["name"].lower())
    if end_tag is None:
        return ""
    end = end_tag.search(page, tag.end())
    return page[tag.end() : end.start() if end else len(page)]


class _UntranslatedElement:
    """Tracks elements with translate="no". `depth` counts the open elements of its name, nested in one another."""

    def __init__(self) -> None:
        self.name, self.depth = "", 0

    def read_tag(self, tag: re.Match[str]) -> None:
        name = tag["name"].lower()
        if tag["slash"]:
            self.depth -= self.depth > 0 and name == self.name
        elif name not in VOID_ELEMENTS and not tag[0].endswith("/>"):
            if self.depth:
                self.depth += name == self.name
            elif _has_translate_no(tag["rest"]):
                self.name, self.depth = name, 1


def _has_translate_no(attributes: str) -> bool:
    """Of several attributes with the same name, the first counts."""
    matches = (match for match in ATTRIBUTE_PATTERN.finditer(attributes) if match["attribute"].lower() == "translate")
    value = next((match["value"] for match in matches), None) or ""
    return value.strip("\"'").lower() == "no"


@dataclass(frozen=True)
class SplitDocument:
    """A text or page as lines and the text between them. `escape` spells a translation as the document needs it."""

    parts: tuple[str | SplitLine, ...]
    escape: Callable[[str], str] = str

    @property
    def lines(self) -> tuple[SplitLine, ...]:
        return tuple(part for part in self.parts if not isinstance(part, str))

    def fill(self, translations: Sequence[Translation], place: int = 0) -> str:
        """Return the document with these translations of its lines, or their alternatives at this place."""
        remaining = iter(translations)
        return "".join(part if isinstance(part, str) else self._render(next(remaining), place) for part in self.parts)

    def _render(self, translation: Translation, place: int) -> str:
        text = translation.alternatives[min(place, len(translation.alternatives) - 1)].text
        spans = translation.spans if text == translation.text else _find_again(translation.spans, text)
        return MarkedText(text, spans).render(self.escape)


def _find_again(spans: Sequence[Span], text: str) -> tuple[Span, ...]:
    """Return the spans where their texts are in another text, each once."""
    if not spans:
        return ()
    texts = sorted({span.text for span in spans if span.text}, key=len, reverse=True)
    remaining, found = Counter(span.text for span in spans), list[Span]()
    for match in re.finditer("|".join(map(re.escape, texts)), text) if texts else ():
        if remaining[match[0]]:
            remaining[match[0]] -= 1
            found.append(Span("markup", match[0], *match.span()))
    return tuple(found)


SplitRequest: TypeAlias = Callable[[Request], SplitLine]


def split_text(text: str, split: SplitRequest) -> SplitDocument:
    """Split a text into its lines."""
    first, *others = text.split("\n")
    parts: list[str | SplitLine] = [split(Request(first))]
    for line in others:
        parts += ("\n", split(Request(line)))
    return SplitDocument(tuple(parts))


def split_html(page: str, split: SplitRequest, kinds: Sequence[SpanKind]) -> SplitDocument:
    """Split a page into the texts of its blocks. kinds: of spans within the text."""
    text_kinds = tuple(kind for kind in kinds if kind != "markup")
    parts, block = list[str | SplitLine](), list[HtmlSegment]()

    def end_block() -> None:
        raw = "".join(segment.raw for segment in block)
        marked = _marked_block(block, text_kinds)
        is_text = any(map(str.isalnum, "".join(part for part in marked.parts() if isinstance(part, str))))
        parts.append(split(Request(marked.text, protect=(), spans=marked.spans)) if is_text else raw)
        block.clear()

    for segment in html_segments(page):
        if segment.kind == "lines":
            for number, line in enumerate(segment.raw.split("\n")):
                if number:
                    end_block()
                    parts.append("\n")
                block.append(HtmlSegment(line, "text"))
        elif segment.kind == "block":
            end_block()
            parts.append(segment.raw)
        elif segment.raw:
            block.append(segment)
    end_block()
    return SplitDocument(tuple(part for part in parts if part != ""), _escape_text)


def _marked_block(block: Sequence[HtmlSegment], kinds: Sequence[SpanKind]) -> MarkedText:
    """Return the text of a block, whose spans are spelled as in the page."""
    parts, opaque = list[str | Span](), ""
    for segment in [*block, HtmlSegment("", "text")]:
        if segment.kind == "opaque":
            opaque += segment.raw
            continue
        if opaque:
            parts.append(Span("placeholders", opaque, 0, 0))
            opaque = ""
        if segment.kind == "inline":
            parts.append(Span("markup", segment.raw, 0, 0))
        elif segment.raw:
            found = MarkedText.find(_unescape(segment.raw), kinds)
            parts += [
                part if isinstance(part, str) else part._replace(text=_escape_text(part.text)) for part in found.parts()
            ]
    marked = MarkedText.join(parts)
    return MarkedText(marked.text, tuple(pair_elements(marked.spans)))


def _escape_text(text: str) -> str:
    """Escape a text as HTML is serialized: &, <, > and no-break spaces."""
    return escape(text, quote=False).replace("\u00a0", "&nbsp;")


def _unescape(text: str) -> str:
    """Replace character references. Long numbers are shortened to 8 digits, enough to see that they are invalid."""
    return unescape(NUMERIC_REFERENCE.sub(lambda digits: digits[0].lstrip("0")[:8] or "0", text))
