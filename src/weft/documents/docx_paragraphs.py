"""Paragraphs of WordprocessingML (ISO/IEC 29500-1, 17.3) as text with spans, and back."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from typing import Literal, NamedTuple

from weft.documents.inline_tags import InlineTag, mark_tags, match_tags, trim_edges
from weft.documents.replacements import Edits
from weft.documents.translatable_text import has_letters
from weft.documents.xml_source import XmlElement, XmlSource
from weft.text.marked_text import MarkedText

CONTAINERS = frozenset({"hyperlink", "ins", "moveTo", "smartTag", "customXml", "dir", "bdo"})
DELETIONS = frozenset({"del", "moveFrom"})
DROPPED = frozenset({"proofErr", "lastRenderedPageBreak", "softHyphen", "rPr", "pPr"})  # about the old text
LANGUAGE_FORMATS = frozenset({"lang", "noProof"})  # differ between runs that look the same
WORDS = frozenset({"fldSimple", "oMath", "oMathPara"})


class XmlFragment(NamedTuple):
    """A part of the file from `first` to before `end`. run_format: it goes into a run of its own, in this format."""

    first: int
    end: int
    run_format: bytes | None = None


class RunItem(NamedTuple):
    """A part of a paragraph. text: of kind "text". format: of the run, without what does not change its look.

    field: begin, separate or end of a complex field, or its instruction.
    """

    kind: Literal["text", "single", "word", "open", "close"]
    fragments: tuple[XmlFragment, ...]
    text: str = ""
    format: bytes = b""
    field: str = ""


class DocxPiece(NamedTuple):
    """What a span of a paragraph stands for. format: of the text inside of a pair."""

    kind: Literal["single", "word", "open", "close"]
    fragments: tuple[XmlFragment, ...] = ()
    format: bytes = b""


class DocxParagraph(NamedTuple):
    """A paragraph with text: its content lies from `first` to before `end`.

    pieces: of its spans. before, after: what stands around the text. format: of text outside of pairs. deletions:
    tracked ones, which follow the text.
    """

    marked: MarkedText
    first: int
    end: int
    pieces: Sequence[DocxPiece]
    before: Sequence[str | DocxPiece]
    after: Sequence[str | DocxPiece]
    format: bytes
    deletions: Sequence[XmlFragment]
    prefix: bytes  # of the namespace


def read_paragraph(source: XmlSource, element: XmlElement) -> DocxParagraph | None:
    """Return a paragraph (w:p); None if it has no text."""
    items = _join_fields(list(_items(source.content, element)))
    base = _main_format(items)
    parts, piece_list = _parts(items, base)
    pieces = iter(piece_list)
    whole = [part if isinstance(part, str) else next(pieces) for part in parts]
    first, end = trim_edges(parts, lambda index: not isinstance(part := whole[index], str) and part.kind == "word")
    kept = parts[first:end]
    if not has_letters(kept):
        return None
    before, after = whole[:first], whole[end:]
    if isinstance(text := kept[0], str):
        kept[0] = text.lstrip()
        before.append(text[: len(text) - len(kept[0])])
    if isinstance(text := kept[-1], str):
        kept[-1] = text.rstrip()
        after.insert(0, text[len(kept[-1]) :])
    properties = element.find("pPr")
    deletions = [XmlFragment(e.first, e.end) for e in element.elements() if e.name in DELETIONS]
    return DocxParagraph(
        mark_tags(kept),
        element.inner_first if properties is None else properties.end,
        element.inner_end,
        [part for part in whole[first:end] if not isinstance(part, str)],
        before,
        after,
        base,
        deletions,
        source.prefix(element),
    )


def render_paragraph(
    source: XmlSource, paragraph: DocxParagraph, translation: MarkedText, edits: Edits[bytes]
) -> bytes:
    """Return the content of a translated paragraph; raise ValueError with the reason if it is not possible."""
    matched = match_tags(paragraph.marked, translation)
    parts = [paragraph.pieces[part] if isinstance(part, int) else part for part in matched]
    formats, rendered, prefix = [paragraph.format], list[bytes](), paragraph.prefix

    def run(run_format: bytes, content: bytes) -> bytes:
        return b"".join([b"<", prefix, b"r>", run_format, content, b"</", prefix, b"r>"])

    for part in [*paragraph.before, *parts, *paragraph.after, DocxPiece("single", tuple(paragraph.deletions))]:
        if isinstance(part, str):
            text = source.escape(part.replace("\n", " ")).encode()
            content = b"".join([b"<", prefix, b't xml:space="preserve">', text, b"</", prefix, b"t>"])
            rendered.append(run(formats[-1], content) if text else b"")
            continue
        if part.kind == "open":
            formats.append(part.format)
        elif part.kind == "close":
            formats.pop()
        for fragment in part.fragments:
            content = edits.render(fragment.first, fragment.end)
            rendered.append(content if fragment.run_format is None else run(fragment.run_format, content))
    return b"".join(rendered)


# --- Items -----------------------------------------------------------------------------------------------------------


def _items(content: bytes, parent: XmlElement) -> Iterator[RunItem]:
    """Yield what a paragraph, or an element around a part of it, contains."""
    for element in parent.elements():
        inner = element.find("sdtContent") if element.name == "sdt" else element
        if element.name in DROPPED or (element.name in DELETIONS and parent.name == "p"):
            continue
        if element.name == "r":
            yield from _run_items(content, element)
        elif inner is not None and (element.name in CONTAINERS or element.name == "sdt"):
            if inner.inner_end < inner.end:
                yield RunItem("open", (XmlFragment(element.first, inner.inner_first),))
                yield from _items(content, inner)
                yield RunItem("close", (XmlFragment(inner.inner_end, element.end),))
        else:
            yield RunItem("word" if element.name in WORDS else "single", (XmlFragment(element.first, element.end),))


def _run_items(content: bytes, run: XmlElement) -> Iterator[RunItem]:
    properties = run.find("rPr")
    whole = b"" if properties is None else content[properties.first : properties.end]
    look = b"" if properties is None else _look(content, properties)
    for element in run.elements():
        fragments = (XmlFragment(element.first, element.end, whole),)
        if element.name == "t":
            yield RunItem("text", fragments, " ".join(element.text().splitlines()) or " ", look)
        elif element.name == "noBreakHyphen":
            yield RunItem("text", fragments, "\u2011", look)
        elif element.name == "fldChar":
            kind = next((value for key, value in element.attributes.items() if key.endswith("fldCharType")), "")
            yield RunItem("single", fragments, field=kind)
        elif element.name == "instrText":
            yield RunItem("single", fragments, element.text(), field="instruction")
        elif element.name not in DROPPED:
            yield RunItem("single", fragments)


def _look(content: bytes, properties: XmlElement) -> bytes:
    """Return the format of a run without its language; nothing if nothing else is in it."""
    kept = [content[e.first : e.end] for e in properties.elements() if e.name not in LANGUAGE_FORMATS]
    start = content[properties.first : properties.inner_first]
    return b"".join([start, *kept, content[properties.inner_end : properties.end]]) if kept else b""


def _join_fields(items: list[RunItem]) -> list[RunItem]:
    """Make one item of each complex field; the text of a hyperlink stays text between its start and its end."""
    joined, position = list[RunItem](), 0
    ends = _field_ends(items)
    while position < len(items):
        if position not in ends:
            joined.append(items[position])
            position += 1
            continue
        field, position = items[position : ends[position] + 1], ends[position] + 1
        separator = next((index for index, item in enumerate(field) if item.field == "separate"), 0)
        instruction = "".join(item.text for item in field[:separator] if item.field == "instruction")
        if instruction.split()[:1] == ["HYPERLINK"] and _is_balanced(field[separator + 1 : -1]):
            joined.append(RunItem("open", _fragments(field[: separator + 1])))
            joined += [*field[separator + 1 : -1], RunItem("close", field[-1].fragments)]
        else:
            joined.append(RunItem("word", _fragments(field)))
    return joined


def _field_ends(items: Sequence[RunItem]) -> dict[int, int]:
    """Return the index of the end of each complex field that is not in another one and cuts no container."""
    ends, opened = dict[int, int](), list[int]()
    for index, item in enumerate(items):
        if item.field == "begin":
            opened.append(index)
        elif item.field == "end" and opened:
            start = opened.pop()
            if not opened and _is_balanced(items[start : index + 1]):
                ends[start] = index
    return ends


def _is_balanced(items: Iterable[RunItem]) -> bool:
    depth = 0
    for item in items:
        depth += (item.kind == "open") - (item.kind == "close")
        if depth < 0:
            return False
    return depth == 0


def _fragments(items: Iterable[RunItem]) -> tuple[XmlFragment, ...]:
    return tuple(fragment for item in items for fragment in item.fragments)


# --- Formats ---------------------------------------------------------------------------------------------------------


def _main_format(items: Iterable[RunItem]) -> bytes:
    """Return the format of most characters."""
    lengths = Counter[bytes]()
    for item in items:
        if item.kind == "text":
            lengths[item.format] += len(item.text.strip())
    return lengths.most_common(1)[0][0] if lengths else b""


def _container_formats(items: Sequence[RunItem]) -> dict[int, bytes]:
    """Return the main format of the text inside of each container, by the index of its start."""
    formats, opened = dict[int, bytes](), list[tuple[int, Counter[bytes]]]()
    for index, item in enumerate(items):
        if item.kind == "open":
            opened.append((index, Counter()))
        elif item.kind == "close":
            start, lengths = opened.pop()
            formats[start] = lengths.most_common(1)[0][0] if lengths else b""
        elif item.kind == "text" and opened:
            opened[-1][1][item.format] += len(item.text.strip())
    return formats


def _parts(items: Sequence[RunItem], base: bytes) -> tuple[list[str | InlineTag], list[DocxPiece]]:
    """Return a paragraph as text and tags, and the pieces of the tags. Formats other than that around are pairs."""
    builder, inner_formats = _PartsBuilder(base), _container_formats(items)
    index = 0
    for is_single, group in groupby(items, lambda item: item.kind == "single"):
        run = list(group)
        if is_single:
            builder.add_tag(DocxPiece("single", _fragments(run)))
        for offset, item in enumerate(() if is_single else run):
            if item.kind == "text":
                builder.add_text(item.text, item.format)
            elif item.kind == "open":
                builder.open_container(DocxPiece("open", item.fragments, inner_formats[index + offset]))
            elif item.kind == "close":
                builder.close_container(DocxPiece("close", item.fragments))
            else:
                builder.add_tag(DocxPiece("word", item.fragments))
        index += len(run)
    builder.close_format()
    builder.finish_text()
    return builder.parts, builder.pieces


class _PartsBuilder:
    """Collects text and tags; `_formats` are those of the containers that are open, `_format` that of an open pair."""

    def __init__(self, base: bytes):
        self.parts: list[str | InlineTag] = []
        self.pieces: list[DocxPiece] = []
        self._formats = [base]
        self._containers: list[str] = []
        self._format: bytes | None = None
        self._number = 0
        self._texts: list[str] = []  # since the last tag

    def add_text(self, text: str, text_format: bytes) -> None:
        current = self._formats[-1] if self._format is None else self._format
        if text.strip() and text_format != current:
            self.close_format()
            if text_format != self._formats[-1]:
                self._number += 1
                self._format = text_format
                self._add(InlineTag(f"<f{self._number}>", opens=f"f{self._number}"), DocxPiece("open", (), text_format))
        self._texts.append(text)

    def add_tag(self, piece: DocxPiece) -> None:
        self._add(InlineTag(f"<x{len(self.pieces) + 1}/>"), piece)

    def open_container(self, piece: DocxPiece) -> None:
        self.close_format()
        name = f"c{len(self.pieces) + 1}"
        self._containers.append(name)
        self._formats.append(piece.format)
        self._add(InlineTag(f"<{name}>", opens=name), piece)

    def close_container(self, piece: DocxPiece) -> None:
        self.close_format()
        name = self._containers.pop()
        self._formats.pop()
        self._add(InlineTag(f"</{name}>", closes=name), piece)

    def close_format(self) -> None:
        if self._format is not None:
            self._format = None
            self._add(InlineTag(f"</f{self._number}>", closes=f"f{self._number}"), DocxPiece("close"))

    def finish_text(self) -> None:
        if self._texts:
            self.parts.append("".join(self._texts))
            self._texts = []

    def _add(self, tag: InlineTag, piece: DocxPiece) -> None:
        self.finish_text()
        self.parts.append(tag)
        self.pieces.append(piece)
