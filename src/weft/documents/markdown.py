"""Markdown: CommonMark with tables and front matter.

Units are paragraphs, headings, list items and table cells, with their inline syntax as spans; a paragraph of several
lines becomes one line, unless it has hard line breaks, which separate units. Code blocks, HTML blocks, definitions of
links and front matter stay, except its title and description.
"""

from __future__ import annotations

import json
import re
import tomllib
from bisect import bisect_right
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from typing import Any, Literal, NamedTuple

import yaml
from markdown_it import MarkdownIt
from markdown_it.token import Token

from weft.documents.decoded_text import DecodedText, Line, check_output, decode_plain_text, split_lines
from weft.documents.document import Document, DocumentError, DocumentFormat, DocumentOptions, FilledDocument, Unit
from weft.documents.line_wrapping import join_lines
from weft.documents.markdown_spans import escape_inline, normalize_label, parse_inline
from weft.documents.replacements import Replacement, replace_ranges
from weft.documents.translatable_text import has_letters, normalize_spaces, strip_outer_markup
from weft.text.marked_text import MarkedText
from weft.text.span_patterns import Span, SpanRole

MAX_MARKDOWN_BYTES = 2**22  # a book has 2**20
FRONT_MATTER_VALUES = {  # by the line around it
    "---": re.compile(r"(?:title|description)[ \t]*+:[ \t]++([^\s\[{&*!|>#].*?)[ \t]*"),
    "+++": re.compile(r"(?:title|description)[ \t]*+=[ \t]*+([\"'](?!\"\"|'').*?)[ \t]*"),
}
LABEL = re.compile(r"\A(?:\[[ xX]\][ \t]++|\[\^[^\s\[\]]{1,200}+\]:[ \t]*+)")  # of a task or a footnote
HARD_BREAK = re.compile(r"(?: {2,}|(?<!\\)(?:\\\\)*\\)$")
BLOCK_START = re.compile(r"(\d{0,9})(?=[.)#>+*=~`|<:_-])")
CELL_END = re.compile(r"(?:[^|\\]|\\.)*+\|?")
PARAGRAPH = ["paragraph_open", "inline", "paragraph_close"]
CODE_BLOCKS = ("code_block", "fence")
SEPARATORS = {"---": ": ", "+++": " = "}
UNESCAPED_PIPE = re.compile(r"(?<!\\)((?:\\\\)*)\|")


class Region(NamedTuple):
    """A text in the file, from `first` to before `end`.

    kind: how it is written: as a paragraph, as the cell of a table, or as the value of a YAML or TOML key.
    before, after: what stays around the text. around: how many pairs of spans enclose all of it.
    """

    first: int
    end: int
    kind: Literal["paragraph", "cell", "---", "+++"]
    whole: MarkedText
    before: str = ""
    text: MarkedText = MarkedText("")
    after: str = ""
    around: int = 0

    def expected_spans(self, translation: MarkedText) -> list[Span]:
        """Return the spans of the region with a translation in it."""
        spans = self.whole.spans
        return [*spans[: self.around], *translation.spans, *spans[len(spans) - self.around :]]


@dataclass(frozen=True)
class MarkdownDocument:
    """A parsed file. references: the normalized labels of its link definitions."""

    source: DecodedText
    regions: tuple[Region, ...]
    references: frozenset[str]
    units: tuple[Unit, ...]
    skipped: dict[str, int]

    def fill(self, translations: Sequence[MarkedText | None]) -> FilledDocument:
        replacements, rejected = dict[Replacement, Unit](), list[tuple[Unit, str]]()
        for unit, region, translation in zip(self.units, self.regions, translations, strict=True):
            if translation is None or translation == unit.text:
                continue
            try:
                replacements[Replacement(region.first, region.end, self._render(region, translation))] = unit
            except DocumentError as error:
                rejected.append((unit, str(error)))
        blocks = _blocks(self.source.text)
        accepted = self._accept(list(replacements), blocks)
        rejected += [
            (unit, "the translation would change the blocks of the document")
            for replacement, unit in replacements.items()
            if replacement not in accepted
        ]
        return FilledDocument(self.source.encode(replace_ranges(self.source.text, accepted)), tuple(rejected))

    def _accept(self, replacements: Sequence[Replacement], blocks: Sequence[tuple[str, int]]) -> list[Replacement]:
        """Return those of the replacements that keep the blocks of the document."""
        if not replacements or _blocks(replace_ranges(self.source.text, replacements)) == blocks:
            return list(replacements)
        if len(replacements) == 1:
            return []
        middle = len(replacements) // 2
        halves = self._accept(replacements[:middle], blocks), self._accept(replacements[middle:], blocks)
        accepted = [*halves[0], *halves[1]]
        return accepted if _blocks(replace_ranges(self.source.text, accepted)) == blocks else halves[0]

    def _render(self, region: Region, translation: MarkedText) -> str:
        """Return Markdown that is read as this translation; raise DocumentError if there is none."""
        check_output(translation.text)
        text = normalize_spaces(_move_spaces_out(normalize_spaces(translation)))
        if not text.text:
            raise DocumentError("the translation is empty")
        if region.kind in FRONT_MATTER_VALUES:
            return _render_value(region, text.text)
        for escape in (str, escape_inline):
            rendered = region.before + text.render(escape) + region.after
            for candidate in (rendered, _escape_start(rendered)):
                if region.kind == "cell":
                    candidate = UNESCAPED_PIPE.sub(r"\1\\|", candidate)
                if self._is_equivalent(candidate, region.expected_spans(text)):
                    return candidate
        raise DocumentError("the translation would be read as other markup")

    def _is_equivalent(self, rendered: str, expected: Sequence[Span]) -> bool:
        """Whether the rendered text is one paragraph with the expected spans."""
        label = LABEL.match(rendered)
        found = parse_inline(rendered[label.end() if label else 0 :], self.references).spans
        are_equal = _without_escapes(found) == _without_escapes(expected)
        return are_equal and (rendered[0].isalpha() or [kind for kind, _ in _blocks(rendered)] == PARAGRAPH)


def open_markdown(content: bytes, _options: DocumentOptions) -> Document:
    """Parse a file; raise DocumentError if it is not text, or larger than any text."""
    source = decode_plain_text(content, MAX_MARKDOWN_BYTES)
    lines = list(split_lines(source.text))
    header = _front_matter_length(lines)
    environment: dict[str, Any] = {}
    tokens = _parse_blocks("\n".join(["" if n < header else line.text for n, line in enumerate(lines)]), environment)
    references = frozenset(map(normalize_label, environment.get("references", {})))
    found = [*_read_front_matter(lines[:header]), *_read_regions(tokens, lines, references)]
    regions = tuple(one for one in found if one.kind in FRONT_MATTER_VALUES or has_letters(one.text.parts()))
    starts = [line.first for line in lines]
    units = tuple(Unit(region.text, f"line {bisect_right(starts, region.first)}") for region in regions)
    skipped = {"without text": len(found) - len(regions), "code": sum(one.type in CODE_BLOCKS for one in tokens)}
    return MarkdownDocument(source, regions, references, units, {name: n for name, n in skipped.items() if n})


def _parse_blocks(text: str, environment: dict[str, Any]) -> list[Token]:
    return _block_parser().parse(text, environment)


@cache
def _block_parser() -> MarkdownIt:
    return MarkdownIt("commonmark").enable("table").disable("inline")


def _blocks(text: str) -> list[tuple[str, int]]:
    """Return the kinds and depths of the blocks of a text."""
    lines = list(split_lines(text))
    header = _front_matter_length(lines)
    return [(one.type, one.level) for one in _parse_blocks("\n".join(line.text for line in lines[header:]), {})]


def _without_escapes(spans: Sequence[Span]) -> list[tuple[str, SpanRole]]:
    return [(span.text, span.role) for span in spans if span.text[0] != "\\"]


def _front_matter_length(lines: Sequence[Line]) -> int:
    """Return the number of lines of YAML or TOML at the start, with those around it."""
    mark = lines[0].text.rstrip() if lines else ""
    if mark not in FRONT_MATTER_VALUES:
        return 0
    return next((number for number, line in enumerate(lines[1:], start=2) if line.text.rstrip() == mark), 0)


def _read_front_matter(lines: Sequence[Line]) -> Iterator[Region]:
    """Yield the title and the description, if they are strings in one line."""
    kind: Literal["---", "+++"] = "---" if lines and lines[0].text.startswith("-") else "+++"
    for line in lines:
        match = FRONT_MATTER_VALUES[kind].fullmatch(line.text)
        value = None if match is None or " #" in match[1] else _parse_value(kind, match[1])
        if match is not None and isinstance(value, str) and value.strip():
            yield Region(
                line.first + match.start(1), line.first + match.end(1), kind, text := MarkedText(value), text=text
            )


def _parse_value(kind: str, value: str) -> object:
    try:
        return yaml.safe_load(f"key: {value}")["key"] if kind == "---" else tomllib.loads(f"key = {value}")["key"]
    except (yaml.YAMLError, ValueError, TypeError, KeyError):
        return None


def _render_value(region: Region, text: str) -> str:
    """Return a value as it is, or in quotes where the syntax or the source has them."""
    quoted = json.dumps(text, ensure_ascii=False)
    plain = text if region.kind == "---" and region.end - region.first == len(region.whole.text) else quoted
    for value in (plain, quoted):
        line = f"title{SEPARATORS[region.kind]}{value}"
        is_read = " #" not in value and FRONT_MATTER_VALUES[region.kind].fullmatch(line) is not None
        if is_read and _parse_value(region.kind, value) == text:
            return value
    raise DocumentError("the translation cannot be written in the front matter")


def _read_regions(tokens: Sequence[Token], lines: Sequence[Line], references: Collection[str]) -> Iterator[Region]:
    row, reached = lines[0] if lines else Line(1, 0, "", ""), 0
    for before, token in pairwise(tokens):
        if token.type == "tr_open" and token.map:
            row, reached = lines[token.map[0]], 0
        elif token.type == "inline" and before.type in ("th_open", "td_open"):
            raw = token.content.replace("|", r"\|")
            first = row.text.find(raw, reached)
            if first < 0:
                continue
            cell_end = CELL_END.match(row.text, first)
            reached = cell_end.end() if cell_end else len(row.text)
            yield _make_region(row.first + first, row.first + first + len(raw), "cell", raw, references)
        elif token.type == "inline" and token.map:
            yield from _read_paragraph(token.content, lines[token.map[0] :], references)


def _read_paragraph(content: str, lines: Sequence[Line], references: Collection[str]) -> Iterator[Region]:
    """Yield a region for each part of a paragraph between hard line breaks; none if markup runs over one."""
    regions, texts, first = list[Region](), list[str](), 0
    content_lines = content.split("\n")
    for number, (text, line) in enumerate(zip(content_lines, lines, strict=False), start=1):
        is_last = number == len(content_lines)
        broken = None if is_last else HARD_BREAK.search(text)
        kept = (text if broken is None else text[: broken.start()]).strip()
        position = line.text.rfind(kept)
        if not texts:
            first = line.first + position
        texts.append(kept)
        if position >= 0 and (is_last or broken):
            end = line.first + position + len(kept)
            regions.append(_make_region(first, end, "paragraph", join_lines(texts), references))
            texts = []
    joined = LABEL.sub("", join_lines([HARD_BREAK.sub("", text) for text in content_lines]), count=1)
    whole = parse_inline(joined, references)
    if sum(len(region.whole.spans) for region in regions) == len(whole.spans):
        yield from regions


def _make_region(
    first: int, end: int, kind: Literal["paragraph", "cell"], raw: str, references: Collection[str]
) -> Region:
    label = LABEL.match(raw)
    start = label[0] if label else ""
    whole = parse_inline(raw[len(start) :], references)
    before, text, after = strip_outer_markup(whole)
    around = (len(whole.spans) - len(text.spans)) // 2
    return Region(first, end, kind, whole, start + before, text, after, around)


def _escape_start(text: str) -> str:
    """Escape the first character that would begin a block, as in "1. " and "# "."""
    return BLOCK_START.sub(r"\1\\", text, count=1) if BLOCK_START.match(text) else text


def _move_spaces_out(text: MarkedText) -> MarkedText:
    """Move spaces from inside of pairs of spans to outside: "** word**" is no emphasis."""
    parts: list[str | Span] = []
    for part in text.parts():
        previous = parts[-1] if parts else ""
        if isinstance(part, Span) and part.role == "close" and isinstance(previous, str) and previous.endswith(" "):
            parts[-1:] = [previous.rstrip(), part, " "]
        elif isinstance(part, str) and isinstance(previous, Span) and previous.role == "open" and part[0] == " ":
            parts[-1:] = [" ", previous, part.lstrip()]
        else:
            parts.append(part)
    return MarkedText.join(part for part in parts if isinstance(part, Span) or part)


def _is_markdown(_content: bytes) -> bool:
    """Any text is Markdown, so that the suffix alone tells."""
    return False


MARKDOWN_FORMAT = DocumentFormat("markdown", "Markdown", (".md", ".markdown", ".mdown"), _is_markdown, open_markdown)
