"""Translates the units of a document, and fills it with their translations. Must not import torch."""

from __future__ import annotations

import re
from collections import Counter, defaultdict, deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

from weft.core.errors import UserError
from weft.core.files import read_bounded
from weft.decoding.constraints.request import Request
from weft.documents.document import DocumentFormat, DocumentOptions, Unit
from weft.inference.backends import StreamError
from weft.inference.translation import SpanMethod, Translation
from weft.text.marked_text import MarkedText
from weft.text.span_patterns import Span, SpanKind

TranslationStream: TypeAlias = Callable[[Iterable[Request]], Iterator[Translation]]

MAX_DOCUMENT_BYTES = 2**26
LINE_BREAKS = re.compile(r"\s*[\r\n]\s*")
LOST_MARKUP = "the translation does not have the markup of the text"


@dataclass(frozen=True)
class DocumentReport:
    """What became of the units of a document.

    skipped: units that were not to be translated, by reason. rejected: units that stay as they are, with the reason.
    truncated: units that are longer than the model reads. methods: how spans were placed.
    """

    translated: int
    skipped: dict[str, int]
    rejected: tuple[tuple[Unit, str], ...]
    truncated: tuple[Unit, ...]
    methods: Counter[SpanMethod]


@dataclass(frozen=True)
class TranslatedDocument:
    """The bytes of a document with its translations, and what became of its units."""

    content: bytes
    report: DocumentReport


def read_document(path: Path) -> bytes:
    """Return the content of a file; raise UserError if it is larger than any document."""
    try:
        return read_bounded(path, MAX_DOCUMENT_BYTES)
    except OSError as error:
        raise UserError(f"{path}: cannot be read ({error.strerror})") from error


def translate_document(
    content: bytes, document_format: DocumentFormat, options: DocumentOptions, stream: TranslationStream
) -> TranslatedDocument:
    """Translate a document, each distinct text once; raise DocumentError if it is damaged."""
    document = document_format.open(content, options)
    texts = {unit.text: tuple(_split_lines(unit.text)) for unit in document.units}
    locations = dict[MarkedText, str]()  # where each line occurs first
    for unit in document.units:
        for line, _ in texts[unit.text]:
            locations.setdefault(line, unit.location)
    translations = _translate_lines(locations, stream)
    outputs = {text: _join_lines(text, lines, translations) for text, lines in texts.items()}
    filled = document.fill([outputs[unit.text] for unit in document.units])
    lost = [(unit, LOST_MARKUP) for unit in document.units if outputs[unit.text] is None]
    rejected = (*lost, *filled.rejected)
    truncated = {text for text, lines in texts.items() if any(translations[line].truncated for line, _ in lines)}
    report = DocumentReport(
        len(document.units) - len(rejected),
        document.skipped,
        rejected,
        tuple(unit for unit in document.units if unit.text in truncated),
        Counter(span.method for translation in translations.values() for span in translation.protected),
    )
    return TranslatedDocument(filled.content, report)


def _translate_lines(locations: dict[MarkedText, str], stream: TranslationStream) -> dict[MarkedText, Translation]:
    """Translate each line; raise UserError with the location of one that cannot be translated."""
    lines = list(locations)
    try:
        return dict(zip(lines, stream(Request(line.text, spans=line.spans) for line in lines), strict=True))
    except StreamError as error:
        raise UserError(f"{locations[lines[error.number]]}: {error.reason}") from error


def _split_lines(text: MarkedText) -> Iterator[tuple[MarkedText, str]]:
    """Yield the lines of a text with the line breaks after them; a line break within a span is part of the line."""
    inside = [(span.first, span.end) for span in text.spans]
    reached = 0
    for match in LINE_BREAKS.finditer(text.text) if "\n" in text.text or "\r" in text.text else ():
        if all(match.end() <= first or end <= match.start() for first, end in inside):
            yield text.slice(reached, match.start()), match[0]
            reached = match.end()
    yield text.slice(reached, len(text.text)) if reached else text, ""


def _join_lines(
    text: MarkedText, lines: Sequence[tuple[MarkedText, str]], translations: dict[MarkedText, Translation]
) -> MarkedText | None:
    """Return the translation of a text with its own spans; None if they are not all there."""
    own = defaultdict[tuple[SpanKind, str], deque[Span]](deque)
    for span in text.spans:
        own[span.kind, span.text].append(span)
    parts = list[str | Span]()
    for line, gap in lines:
        translation = translations[line]
        for part in MarkedText(translation.text, translation.spans).parts():
            if isinstance(part, str):
                parts.append(part)
                continue
            same = own[part.kind, part.text]  # empty for what a pattern found: the format escapes it as other text
            parts.append(same.popleft() if same else part.text)
        parts.append(gap)
    return None if any(own.values()) else MarkedText.join(parts)
