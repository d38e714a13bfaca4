"""strings.xml of Android: <string>, and the items of <string-array> and <plurals>.

https://developer.android.com/guide/topics/resources/string-resource. The parser expat checks the file and tells the
bytes of its elements; document types, and so entities of the file's own, are refused.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, field
from typing import NamedTuple
from xml.parsers.expat import ExpatError, ParserCreate

from weft.documents.decoded_text import decode_document
from weft.documents.document import DocumentError, DocumentFormat, DocumentOptions, Unit
from weft.documents.slot_document import MAX_UNIT_LENGTH, TOO_LONG, UNTRANSLATABLE, Slot, SlotDocument, check_units
from weft.documents.translatable_text import core_range, is_translatable, mark_spans, percent_escape, reject_translation
from weft.text.marked_text import MarkedText
from weft.text.span_patterns import Span

MAX_DEPTH = 50
START_TAG = re.compile(r"""<(?:[^<>"']|"[^"]*"|'[^']*')*+>""")
_TAG = r"<xliff:g\b[^<>]*+/>|<xliff:g\b[^<>]*+>[^<]*+</xliff:g\s*>|<!--.*?-->|<[^<>]*+>"  # xliff:g is not translated
_ESCAPE = r"\\(?:u(?P<code>[0-9A-Fa-f]{4})|(?P<letter>.))"
CDATA_PIECE = re.compile(rf"(?P<span>{_TAG})|{_ESCAPE}", re.DOTALL)
PIECE = re.compile(
    rf"(?P<span><!\[CDATA\[.*?\]\]>|{_TAG}|&lt;/?[A-Za-z][^<>&]{{0,500}}+(?:&gt;|>))"
    rf"|&\#(?P<decimal>[0-9]{{1,7}});|&\#x(?P<hex>[0-9A-Fa-f]{{1,6}});|&(?P<entity>[a-z]{{2,4}});|{_ESCAPE}",
    re.DOTALL,
)
CDATA = re.compile(r"\s*<!\[CDATA\[(.*)\]\]>\s*", re.DOTALL)
REFERENCE = re.compile(r"[@?][\w:+]*/?\w+")
ENTITIES = {"amp": "&", "lt": "<", "gt": ">", "quot": '"', "apos": "'"}
MAX_CODE = 0x10FFFF
ESCAPES = {"\\": r"\\", "'": r"\'", '"': r"\"", "\n": r"\n", "\t": r"\t"}
XML_ESCAPES = {"&": "&amp;", "<": "&lt;", ">": "&gt;"}
MATCHES = re.compile(
    rb"(?:\xef\xbb\xbf)?\s*+(?:<\?xml[^>]{0,200}>\s*+)?(?:<!--.{0,8000}?-->\s*+){0,5}<resources\b", re.DOTALL
)


@dataclass
class _Resource:
    """An open element. is_text: whether it, or strings in it, are translated. first: where its tag begins."""

    name: str
    is_text: bool
    is_string: bool
    first: int


@dataclass
class _ResourceParser:
    """Collects the bytes of the strings: the start of their start tag and of their end tag."""

    found: list[tuple[str, int, int]] = field(default_factory=list)
    _open: list[_Resource] = field(default_factory=list)

    def parse(self, content: bytes) -> None:
        parser = ParserCreate()
        parser.StartDoctypeDeclHandler = self._refuse_doctype
        parser.StartElementHandler = lambda name, attributes: self._start(name, attributes, parser.CurrentByteIndex)
        parser.EndElementHandler = lambda _: self._end(parser.CurrentByteIndex)
        try:
            parser.Parse(content, True)
        except ExpatError as error:
            raise DocumentError(f"is not valid XML: {error}. Correct it") from None

    def _refuse_doctype(self, *declaration: object) -> None:
        del declaration
        raise DocumentError("declares a document type, which strings of apps do not need. Remove it")

    def _start(self, name: str, attributes: dict[str, str], position: int) -> None:
        depth = len(self._open)
        if depth == 0 and name != "resources":
            raise DocumentError(f"the root element is {name}, not resources. Is it a file of Android strings?")
        if depth > MAX_DEPTH:
            raise DocumentError(f"is nested more than {MAX_DEPTH} deep. Is it a file of Android strings?")
        parent = self._open[-1] if self._open else _Resource("", True, False, 0)
        is_string = (depth == 1 and name == "string") or (depth == 2 and name == "item" and parent.is_text)
        is_group = depth == 0 or (depth == 1 and name in ("string-array", "plurals"))
        is_text = attributes.get("translatable") != "false" and parent.is_text and (is_string or is_group)
        label = attributes.get("name") or attributes.get("quantity") or ""
        self._open.append(_Resource(f"{parent.name} {label}".strip(), is_text, is_text and is_string, position))

    def _end(self, position: int) -> None:
        resource = self._open.pop()
        if resource.is_string:
            self.found.append((resource.name, resource.first, position))


class _StringsReader:
    def __init__(self, content: bytes) -> None:
        self.slots, self.skipped = list[Slot](), Counter[str]()
        self._line, self._content = (0, 1), content
        self._reached = (0, 0)  # bytes and characters

    def add(self, name: str, first: int, end: int) -> None:
        """Add the string whose tags begin at these bytes."""
        element = self._content[first:end].decode("utf-8")
        start_tag = START_TAG.match(element)
        offset = self._reached[1] + len(self._content[self._reached[0] : first].decode("utf-8"))
        self._reached = (first, offset)
        if start_tag is None or start_tag[0].endswith("/>"):
            return
        raw = element[start_tag.end() :]
        self._line = (first, self._line[1] + self._content.count(b"\n", self._line[0], first))
        if len(raw) > MAX_UNIT_LENGTH:
            self.skipped[TOO_LONG] += 1
        elif raw.strip():
            self._add_text(f"line {self._line[1]} ({name})", raw, offset + start_tag.end())

    def _add_text(self, location: str, raw: str, offset: int) -> None:
        cdata = CDATA.fullmatch(raw)
        is_cdata = cdata is not None and "]]>" not in cdata[1]
        first, end = cdata.span(1) if cdata and is_cdata else (0, len(raw))
        inner = core_range(raw[first:end])
        first, end = first + inner[0], first + inner[1]
        is_quoted = end - first > 2 and raw[first] == raw[end - 1] == '"' and '"' not in raw[first + 1 : end - 1]
        if is_quoted:
            first, end = first + 1, end - 1
        string = read_string(raw[first:end], is_cdata, is_quoted)
        if not is_translatable(string.marked) or REFERENCE.fullmatch(string.marked.text):
            self.skipped[UNTRANSLATABLE] += 1
        else:
            unit = Unit(string.marked, location)
            self.slots.append(Slot(unit, offset + first, offset + end, string.render, string.reject))


class AndroidString(NamedTuple):
    """A text whose spans are written as in the file. verbatim: the spans that are XML there."""

    marked: MarkedText
    verbatim: frozenset[str]
    is_cdata: bool
    is_quoted: bool

    def render(self, translation: MarkedText) -> str:
        """Return the XML of a translation."""
        escapes = ESCAPES if self.is_cdata else ESCAPES | XML_ESCAPES
        table = str.maketrans({char: text for char, text in escapes.items() if not (self.is_quoted and char == "'")})
        double = percent_escape(self.marked)
        pieces = [
            double(part).translate(table)
            if isinstance(part, str)
            else (part.text if part.text in self.verbatim else part.text.translate(table))
            for part in translation.parts()
        ]
        text = "".join(pieces).strip()
        return rf"\{text}" if text.startswith(("@", "?")) else text

    def reject(self, translation: MarkedText) -> str | None:
        text = self.render(translation)
        if self.is_cdata and "]]>" in text:
            return "CDATA cannot contain ]]>"
        try:
            ParserCreate().Parse("<string>" + (f"<![CDATA[{text}]]>" if self.is_cdata else text) + "</string>", True)
        except (ExpatError, UnicodeError):
            return "its tags are not nested, or it has characters that XML cannot have"
        return reject_translation(self.marked, translation)


def read_string(raw: str, is_cdata: bool, is_quoted: bool) -> AndroidString:
    """Read a string with its tags as spans; unless quoted, any white space is one space, as Android shows it."""
    parts, reached = list[str | Span](), 0
    for match in [*(CDATA_PIECE if is_cdata else PIECE).finditer(raw), None]:
        text = raw[reached : match.start()] if match else raw[reached:]
        parts.append(text if is_quoted else re.sub(r"\s+", " ", text.replace('"', "")))
        if match is not None:
            reached = match.end()
            parts.append(Span("markup", match[0], 0, 0) if match["span"] else _decode_piece(match))
    joined = MarkedText.join(parts)
    marked = mark_spans(joined.text, joined.spans)
    return AndroidString(marked, frozenset(span.text for span in joined.spans), is_cdata, is_quoted)


def _decode_piece(match: re.Match[str]) -> str:
    groups = match.groupdict()
    if number := groups.get("decimal") or groups.get("hex"):
        code = int(number, 10 if groups.get("decimal") else 16)
        return chr(code) if code <= MAX_CODE else ""
    if groups.get("entity"):
        return ENTITIES.get(groups["entity"], match[0])
    if groups["code"]:
        return chr(int(groups["code"], 16))
    return {"n": "\n", "t": "\t"}.get(groups["letter"], groups["letter"])


def open_android_strings(content: bytes, options: DocumentOptions) -> SlotDocument:
    del options
    file = decode_document(content)
    if file.encoding != "utf-8":
        raise DocumentError("is not UTF-8. Convert it")
    content, parser = file.text.encode(), _ResourceParser()
    parser.parse(content)
    check_units(len(parser.found))
    reader = _StringsReader(content)
    for name, first, end in parser.found:
        reader.add(name, first, end)
    return SlotDocument(file, reader.slots, dict(reader.skipped))


ANDROID_FORMAT = DocumentFormat(
    "android", "Android strings.xml", (), lambda content: MATCHES.match(content) is not None, open_android_strings
)
