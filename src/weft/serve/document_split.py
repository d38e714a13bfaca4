"""Split plain text or HTML into lines to translate, and put translations back."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from weft.decoding.constraints.request import Request
from weft.documents.html_files import parse_html
from weft.inference.line_sentences import SplitLine
from weft.inference.translation import Translation
from weft.text.marked_text import MarkedText
from weft.text.span_patterns import Span

SplitRequest: TypeAlias = Callable[[Request], SplitLine]


@dataclass(frozen=True)
class SplitDocument:
    """A text or page as lines. render: returns the document with these texts in place of its lines."""

    lines: tuple[SplitLine, ...]
    render: Callable[[Sequence[MarkedText]], str]

    def fill(self, translations: Sequence[Translation], place: int = 0) -> str:
        """Return the document with these translations of its lines, or their alternatives at this place."""
        return self.render([_marked_alternative(translation, place) for translation in translations])


def split_text(text: str, split: SplitRequest) -> SplitDocument:
    """Split a text into its lines."""
    lines = tuple(split(Request(line)) for line in text.split("\n"))
    return SplitDocument(lines, lambda texts: "\n".join(marked.text for marked in texts))


def split_html(page: str, split: SplitRequest) -> SplitDocument:
    """Split a page into the texts of its blocks and attributes. A translation with other tags is left out."""
    document = parse_html(page)
    requests = (Request(unit.text.text, spans=unit.text.spans) for unit in document.units)
    return SplitDocument(tuple(map(split, requests)), lambda texts: document.fill_page(texts)[0])


def _marked_alternative(translation: Translation, place: int) -> MarkedText:
    text = translation.alternatives[min(place, len(translation.alternatives) - 1)].text
    spans = translation.spans if text == translation.text else _find_again(translation.spans, text)
    return MarkedText(text, spans)


def _find_again(spans: Sequence[Span], text: str) -> tuple[Span, ...]:
    """Return the spans where their texts are in another text, each once."""
    remaining = {text: [span for span in spans if span.text == text] for text in Counter(span.text for span in spans)}
    pattern = "|".join(re.escape(text) for text in sorted(filter(None, remaining), key=len, reverse=True))
    found = list[Span]()
    for match in re.finditer(pattern, text) if pattern else ():
        if remaining[match[0]]:
            span = remaining[match[0]].pop(0)
            found.append(span._replace(first=match.start(), end=match.end()))
    return tuple(found)
