"""HTML: paragraphs, headings, cells and some attributes are units; inline elements are spans of them."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from html import escape
from typing import NamedTuple

from weft.documents.decoded_text import DecodedText, decode_document
from weft.documents.document import DocumentError, DocumentFormat, DocumentOptions, FilledDocument, Unit
from weft.documents.html_tokens import (
    VOID_ELEMENTS,
    HtmlAttribute,
    HtmlToken,
    html_attributes,
    html_tokens,
    unescape_html,
)
from weft.documents.inline_tags import InlineTag, mark_tags, match_tags, trim_edges
from weft.documents.replacements import Edits
from weft.documents.translatable_text import has_letters
from weft.text.marked_text import MarkedText

# Phrasing content; every other element, also one that HTML does not define, cuts the text.
INLINE_NAMES = (
    "a abbr acronym b bdi bdo big br cite code data del dfn em font i img ins kbd label mark math nobr q rp rt ruby s"
    " samp small span strike strong sub sup time tt u var wbr"
)
INLINE_ELEMENTS = frozenset(INLINE_NAMES.split())
UNTRANSLATED_ELEMENTS = frozenset({"code", "kbd", "math", "pre", "samp", "svg", "var"})
GRAPHICS = frozenset({"svg"})
TRANSLATED_ATTRIBUTES = frozenset({"alt", "aria-label", "placeholder", "title"})
TRANSLATED_META = frozenset(
    {"description", "title", "og:title", "og:description", "twitter:title", "twitter:description"}
)
BUTTON_TYPES = frozenset({"button", "reset", "submit"})
SPACE = " \t\n\f\r"
SPACES = re.compile(f"[{SPACE}]+")
CHARSET = re.compile(rb"""<meta[^>]{0,300}?charset\s*=\s*["']?\s*([A-Za-z0-9_-]{1,40})""", re.IGNORECASE)
LATIN_1_NAMES = frozenset({"ascii", "us-ascii", "iso-8859-1", "iso8859-1", "latin1"})


class HtmlSlot(NamedTuple):
    """A unit and the range of the page that its translation replaces.

    ranges: of its spans. is_attribute: it is the value of one.
    """

    unit: Unit
    first: int
    end: int
    ranges: Sequence[tuple[int, int]] = ()
    is_attribute: bool = False


@dataclass(frozen=True)
class HtmlDocument:
    """A parsed page. language: where its lang attribute is or belongs."""

    source: DecodedText
    slots: Sequence[HtmlSlot]
    skipped: dict[str, int]
    target: str = ""
    language: HtmlAttribute | None = None

    @property
    def page(self) -> str:
        return self.source.text

    @property
    def units(self) -> list[Unit]:
        return [slot.unit for slot in self.slots]

    def fill(self, translations: Sequence[MarkedText | None]) -> FilledDocument:
        page, rejected = self.fill_page(translations)
        return FilledDocument(self.source.encode(page, "xmlcharrefreplace"), tuple(rejected))

    def fill_page(self, translations: Sequence[MarkedText | None]) -> tuple[str, list[tuple[Unit, str]]]:
        """Return the page with translations, and what was left out with the reason."""
        edits, rejected = Edits(self.page), list[tuple[Unit, str]]()
        for slot, translation in zip(self.slots, translations, strict=True):
            try:
                if translation is not None and translation.text != slot.unit.text.text:
                    edits.replace(slot.first, slot.end, _render(slot, translation, edits))
            except ValueError as error:
                rejected.append((slot.unit, str(error)))
        if edits and self.language is not None:
            name, _, first, end = self.language
            edits.replace(first, end, f'{name}"{escape(self.target)}"')
        return edits.render(0, len(self.page)), rejected


def _render(slot: HtmlSlot, translation: MarkedText, edits: Edits[str]) -> str:
    parts = match_tags(slot.unit.text, translation)
    if slot.is_attribute:
        return f'"{escape(translation.text)}"'
    return "".join(
        edits.render(*slot.ranges[part]) if isinstance(part, int) else escape(part, quote=False) for part in parts
    )


class _Piece(NamedTuple):
    """Text or a tag of a unit. is_word: a tag that stands for words, such as the content of <code>."""

    content: str | InlineTag
    first: int
    end: int
    is_word: bool = False


@dataclass
class _Untranslated:
    """The element whose content is not translated, and how many of its name are open, nested in one another."""

    name: str
    first: int
    reason: str
    is_inline: bool
    depth: int = 1


@dataclass
class _HtmlReader:
    page: str
    slots: list[HtmlSlot] = field(default_factory=list)
    skipped: Counter[str] = field(default_factory=Counter)
    language: HtmlAttribute | None = None
    _pieces: list[_Piece] = field(default_factory=list)
    _untranslated: _Untranslated | None = None

    def __post_init__(self) -> None:
        self._newlines = [match.start() for match in re.finditer("\n", self.page)]

    def read(self, target: str) -> None:
        for token in html_tokens(self.page):
            if self._untranslated is not None:
                self._read_untranslated(token, self._untranslated)
            elif token.kind == "text":
                self._read_text(token)
            elif token.kind == "other":
                self._read_other(token)
            else:
                self._read_tag(token, target)
        self._finish_unit()

    def _read_text(self, token: HtmlToken) -> None:
        if token.name:  # of an element without markup
            self._finish_unit()
        raw = self.page[token.first : token.end]
        self._pieces.append(_Piece(raw, token.first, token.end))
        if token.name:
            self._finish_unit()

    def _read_other(self, token: HtmlToken) -> None:
        if token.name:  # the content of a script cuts the text, a comment does not
            self._finish_unit()
        else:
            self._pieces.append(_Piece(InlineTag(self.page[token.first : token.end]), token.first, token.end))

    def _read_tag(self, tag: HtmlToken, target: str) -> None:
        is_inline = tag.name in INLINE_ELEMENTS or tag.name in GRAPHICS
        if not is_inline:
            self._finish_unit()
        attributes = html_attributes(self.page, tag) if tag.kind == "start" else {}
        is_open = tag.kind == "start" and tag.name not in VOID_ELEMENTS
        reason = _untranslated_reason(tag.name, attributes)
        if is_open and reason and self.page[tag.end - 2] != "/":
            self._untranslated = _Untranslated(tag.name, tag.first, reason, is_inline)
            return
        if not reason or reason == tag.name:
            self._read_attributes(tag, attributes)
        if tag.name == "html" and tag.kind == "start" and target:
            self.language = _language_place(tag, attributes)
        if is_inline:
            text = self.page[tag.first : tag.end]
            pairs = is_open and not text.endswith("/>")
            piece = InlineTag(text, tag.name if pairs else "", tag.name if tag.kind == "end" else "")
            self._pieces.append(_Piece(piece, tag.first, tag.end))

    def _read_untranslated(self, token: HtmlToken, element: _Untranslated) -> None:
        if token.name != element.name or token.kind not in ("start", "end"):
            return
        if token.kind == "start":
            element.depth += self.page[token.end - 2] != "/"
            return
        element.depth -= 1
        if not element.depth:
            self._untranslated = None
            self.skipped[element.reason] += 1
            if element.is_inline:
                tag = InlineTag(self.page[element.first : token.end])
                self._pieces.append(_Piece(tag, element.first, token.end, element.name not in GRAPHICS))

    def _read_attributes(self, tag: HtmlToken, attributes: Mapping[str, HtmlAttribute]) -> None:
        for attribute in attributes.values():
            if attribute.first < attribute.end and _is_translated(tag.name, attribute.name, attributes):
                value = SPACES.sub(" ", attribute.value).strip(SPACE)
                if any(map(str.isalpha, value)):
                    unit = Unit(MarkedText(value), f"line {self._line_number(attribute.first)}")
                    self.slots.append(HtmlSlot(unit, attribute.first, attribute.end, is_attribute=True))

    def _finish_unit(self) -> None:
        """Add the unit of the pieces so far, without white space and tags around it."""
        texts = [_text(piece) for piece in self._pieces]
        first, end = trim_edges(texts, lambda index: self._pieces[index].is_word)
        pieces = _strip_texts(self._pieces[first:end])
        self._pieces = []
        texts = [_text(piece) for piece in pieces]
        if has_letters(texts):
            ranges = [(piece.first, piece.end) for piece in pieces if isinstance(piece.content, InlineTag)]
            unit = Unit(mark_tags(texts), f"line {self._line_number(pieces[0].first)}")
            self.slots.append(HtmlSlot(unit, pieces[0].first, pieces[-1].end, ranges))

    def _line_number(self, position: int) -> int:
        return bisect_left(self._newlines, position) + 1


def _untranslated_reason(name: str, attributes: Mapping[str, HtmlAttribute]) -> str:
    """Return why the content of an element is not translated; "" if it is."""
    if name in UNTRANSLATED_ELEMENTS:
        return name
    if "translate" in attributes and attributes["translate"].value.lower() == "no":
        return 'translate="no"'
    has_class = "class" in attributes and "notranslate" in attributes["class"].value.split()
    return "notranslate" if has_class else ""


def _is_translated(tag: str, name: str, attributes: Mapping[str, HtmlAttribute]) -> bool:
    def value(key: str) -> str:
        return attributes[key].value.strip().lower() if key in attributes else ""

    if tag == "meta":
        return name == "content" and (value("name") or value("property")) in TRANSLATED_META
    if tag == "input" and name == "value":
        return value("type") in BUTTON_TYPES
    return name in TRANSLATED_ATTRIBUTES


def _language_place(tag: HtmlToken, attributes: Mapping[str, HtmlAttribute]) -> HtmlAttribute:
    """Return where the language of the page goes; the name holds what precedes the quoted value."""
    if "lang" in attributes:
        _, value, first, end = attributes["lang"]
        return HtmlAttribute("" if first < end else "=", value, first, end)
    return HtmlAttribute(" lang=", "", tag.rest, tag.rest)


def _text(piece: _Piece) -> str | InlineTag:
    return piece.content if isinstance(piece.content, InlineTag) else unescape_html(SPACES.sub(" ", piece.content))


def _strip_texts(pieces: list[_Piece]) -> list[_Piece]:
    """Remove the white space at both ends of the text."""
    if pieces and isinstance(text := pieces[0].content, str):
        length = len(text) - len(text.lstrip(SPACE))
        pieces[0] = pieces[0]._replace(content=text[length:], first=pieces[0].first + length)
    if pieces and isinstance(text := pieces[-1].content, str):
        length = len(text) - len(text.rstrip(SPACE))
        pieces[-1] = pieces[-1]._replace(content=text[: len(text) - length], end=pieces[-1].end - length)
    return pieces


# --- Files -----------------------------------------------------------------------------------------------------------


def parse_html(page: str, target: str = "") -> HtmlDocument:
    """Parse a page or a fragment, however broken. target: the language for the lang attribute of <html>."""
    return _parse_page(DecodedText(page), target)


def _parse_page(source: DecodedText, target: str) -> HtmlDocument:
    reader = _HtmlReader(source.text)
    reader.read(target)
    return HtmlDocument(source, reader.slots, dict(reader.skipped), target, reader.language)


def open_html(content: bytes, options: DocumentOptions) -> HtmlDocument:
    """Parse a file in the encoding of its byte order mark or <meta charset>, else in UTF-8."""
    match = CHARSET.search(content[:5000])
    name = match[1].decode().lower() if match else "utf-8"
    if name in LATIN_1_NAMES:  # browsers read it as Windows-1252, XML parsers do not
        name = "windows-1252" if re.search(rb"[\x80-\x9f]", content) else "iso-8859-1"
    decoded = decode_document(content, name)
    if "\0" in decoded.text:
        raise DocumentError("has zero bytes, so it is no HTML file. Check the format.")
    return _parse_page(decoded, options.target)


def is_html(content: bytes) -> bool:
    """Whether a file starts as a page does."""
    start = re.sub(rb"\A(?:\xef\xbb\xbf)?(?:\s|<!--.*?-->|<\?xml[^>]*>)*", b"", content[:5000], flags=re.DOTALL)
    return re.match(rb"<!doctype html|<html[\s>]", start, re.IGNORECASE) is not None


HTML = DocumentFormat("html", "HTML", (".html", ".htm", ".xhtml"), is_html, open_html)
