"""Inline tags of markup as spans: pairs, and whether a translation has the tags of its source."""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from weft.text.marked_text import MarkedText, partner_indices
from weft.text.span_patterns import Span, SpanRole

LOST_TAGS = "the translation has other inline tags than the source"


class Tag(NamedTuple):
    """A tag in a text. opens and closes: a key that start and end of an element share; "" for a single tag."""

    text: str
    opens: str = ""
    closes: str = ""


def mark_tags(parts: Sequence[str | Tag]) -> MarkedText:
    """Join text and tags. Tags with the same key become pairs as far as they nest; the others are single spans."""
    roles: dict[int, SpanRole] = {}
    opened, counts = list[tuple[str, int]](), defaultdict[str, int](int)
    for number, part in enumerate(parts):
        if isinstance(part, str):
            continue
        if part.opens:
            opened.append((part.opens, number))
            counts[part.opens] += 1
        elif part.closes and counts[part.closes]:
            key, start = "", number
            while key != part.closes:
                key, start = opened.pop()
                counts[key] -= 1
            roles |= {start: "open", number: "close"}
    return MarkedText.join(
        part if isinstance(part, str) else Span("markup", part.text, 0, 0, roles.get(number, "single"))
        for number, part in enumerate(parts)
    )


def match_tags(source: MarkedText, translation: MarkedText) -> list[str | int] | None:
    """Return a translation as text and indices of the source's spans; None unless it has each once, pairs nested.

    Spans that only the translation has were found in its text by patterns; they are text of the document.
    """
    partners, waiting = partner_indices(source.spans), defaultdict[tuple[str, str], deque[int]](deque)
    for index, span in enumerate(source.spans):
        waiting[span.role, span.text].append(index)
    parts, opened = list[str | int](), list[int]()
    for part in translation.parts():
        indices = None if isinstance(part, str) else waiting[part.role, part.text]
        if not indices:
            parts.append(part if isinstance(part, str) else part.text)
            continue
        index = indices.popleft()
        role = source.spans[index].role
        if role == "open":
            opened.append(index)
        elif role == "close" and not (opened and source.spans[partners[opened.pop()]].text == source.spans[index].text):
            return None
        parts.append(index)
    return None if opened or any(waiting.values()) else parts


def has_text(parts: Iterable[str | Tag]) -> bool:
    """Whether there is a letter outside of the tags."""
    return any(isinstance(part, str) and any(map(str.isalpha, part)) for part in parts)
