"""The sentences of a text with spans. No span is cut: markup is transparent, any other span counts as a word."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Mapping, Sequence
from html import unescape
from itertools import accumulate
from typing import NamedTuple

from weft.text.marked_text import MarkedText, partner_indices
from weft.text.sentences import SentenceSplitter
from weft.text.span_patterns import Span

WORD = "Word"  # stands for a span where sentences are split


class Sentence(NamedTuple):
    """A part of a marked text, from `first` to before `end`, and the numbers of its spans."""

    first: int
    end: int
    spans: range


def split_sentences(marked: MarkedText, splitter: SentenceSplitter) -> list[Sentence]:
    """Return the sentences; text between them is white space, or has neither letters nor digits.

    Tags next to a sentence belong to it if the other tag of their element does.
    """
    text, offsets = _without_markup(marked)
    layout = splitter(text)
    lengths = [len(part) for pair in zip(layout.gaps, layout.sentences, strict=False) for part in pair]
    ends = list(accumulate(lengths))
    bounds = [(ends[number] - lengths[number], ends[number]) for number in range(1, len(ends), 2)]
    sentences, partners = list[Sentence](), partner_indices(marked.spans)
    for first, end in bounds:
        start = max(offsets[first][0], sentences[-1].end if sentences else 0)
        if start < offsets[end - 1][1]:
            sentences.append(_with_tags(marked.spans, partners, start, offsets[end - 1][1]))
    return sentences


def _without_markup(marked: MarkedText) -> tuple[str, list[tuple[int, int]]]:
    """Return the text that shows where sentences end, and the part of the original of each of its characters."""
    pieces, offsets, position = list[str](), list[tuple[int, int]](), 0
    for part in marked.parts():
        if isinstance(part, str):
            pieces.append(part)
            offsets += [(number, number + 1) for number in range(position, position + len(part))]
            position += len(part)
        else:
            pieces.append(_stand_in(part))
            offsets += [(part.first, part.end)] * len(pieces[-1])
            position = part.end
    return "".join(pieces), offsets


def _stand_in(span: Span) -> str:
    match span.kind:
        case "numbers" | "emoji":
            return span.text
        case "markup":
            is_break = span.text.lower().startswith(("<br", "<x", "<ph"))
            return unescape(span.text) if span.text.startswith("&") else " " if is_break else ""
    return WORD


def _with_tags(spans: Sequence[Span], partners: Mapping[int, int], first: int, end: int) -> Sentence:
    """Return the sentence with the tags next to it whose partners it contains."""
    low = bisect_right(spans, first, key=lambda span: span.end)
    high = bisect_left(spans, end, lo=low, key=lambda span: span.first)
    while high < len(spans) and spans[high].first == end and low <= partners.get(high, -1) < high:
        end, high = spans[high].end, high + 1
    while low and spans[low - 1].end == first and low <= partners.get(low - 1, -1) < high:
        first, low = spans[low - 1].first, low - 1
    return Sentence(first, end, range(low, high))
