"""Wraps a text with spans into lines of similar length, and distributes it over several places."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import accumulate, pairwise
from typing import NamedTuple
from unicodedata import east_asian_width

from weft.text.marked_text import MarkedText

MAX_LINES = 1_000_000
SPACES = re.compile(r"\s+")
NO_LINE_START = frozenset("、。，．！？：；」』）］｝〉》】ー々…・!?,.:;)]}")
NO_LINE_END = frozenset("「『（［｛〈《【([{")


class Chunk(NamedTuple):
    """A part of a text that is not broken, and where it begins and ends in characters that are visible.

    end: with the white space after it. visible_end: without.
    """

    first: int
    end: int
    visible_first: int
    visible_end: int


def wrap_marked(text: MarkedText, max_lines: int, width: int) -> list[MarkedText]:
    """Wrap into as few lines of at most `width` characters as possible, all of similar length.

    If `max_lines` lines do not suffice, lines are longer. Spans are not cut, and do not count.
    """
    chunks = _split_chunks(text)
    count = min(_line_count(chunks, width), max_lines)
    low, high = max(chunk.visible_end - chunk.visible_first for chunk in chunks), chunks[-1].visible_end
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if _line_count(chunks, middle) <= count else (middle + 1, high)
    return _cut(text, chunks, _line_starts(chunks, low))


def distribute_marked(text: MarkedText, shares: Sequence[int]) -> list[MarkedText] | None:
    """Cut a text into a part for each share, of lengths in that ratio; None if it has too few words."""
    chunks = _split_chunks(text)
    if len(chunks) < len(shares):
        return None
    starts, total = [0], sum(shares)
    for number, share in enumerate(accumulate(shares[:-1]), start=1):
        ideal = chunks[-1].visible_end * share / total
        candidates = range(starts[-1] + 1, len(chunks) - (len(shares) - number) + 1)
        starts.append(min(candidates, key=lambda start: abs(chunks[start].visible_first - ideal)))
    return _cut(text, chunks, starts)


def join_lines(lines: Sequence[str]) -> str:
    """Join lines with a space, except between characters of scripts that have none."""
    joined = ""
    for line in map(str.strip, lines):
        between = "" if not joined or not line or (_is_wide(joined[-1]) and _is_wide(line[0])) else " "
        joined += between + line
    return joined


def _split_chunks(text: MarkedText) -> list[Chunk]:
    """Split a text that is not empty where lines may break: after white space, and between wide characters."""
    hidden = bytearray(len(text.text))
    for span in text.spans:
        hidden[span.first : span.end] = b"\1" * (span.end - span.first)
    visible = [0, *accumulate(1 - flag for flag in hidden)]
    after_open = {span.end for span in text.spans if span.role == "open"}
    before_close = {span.first for span in text.spans if span.role == "close"}
    breaks = [match.end() for match in SPACES.finditer(text.text) if not hidden[match.end() - 1]]
    breaks += [
        offset
        for offset, (before, after) in enumerate(pairwise(text.text), start=1)
        if _is_wide(before) and _is_wide(after) and before not in NO_LINE_END and after not in NO_LINE_START
        if not (hidden[offset - 1] and hidden[offset]) and offset not in after_open and offset not in before_close
    ]
    ends = sorted({*breaks, len(text.text)})
    return [
        Chunk(first, end, visible[first], visible[first + len(text.text[first:end].rstrip())])
        for first, end in pairwise([0, *ends])
    ]


def _line_starts(chunks: Sequence[Chunk], width: int) -> list[int]:
    """The first chunk of each line if lines are filled one after the other."""
    starts = [0]
    for number, chunk in enumerate(chunks):
        if number > starts[-1] and chunk.visible_end - chunks[starts[-1]].visible_first > width:
            starts.append(number)
    return starts


def _line_count(chunks: Sequence[Chunk], width: int) -> int:
    """How many lines of at most `width` there are; infinitely many if a chunk is longer than that."""
    too_long = any(chunk.visible_end - chunk.visible_first > width for chunk in chunks)
    return MAX_LINES if too_long else len(_line_starts(chunks, width))


def _cut(text: MarkedText, chunks: Sequence[Chunk], starts: Sequence[int]) -> list[MarkedText]:
    """Cut before each of these chunks, and omit the white space there."""
    parts = []
    for first, last in pairwise([*starts, len(chunks)]):
        begin, end = chunks[first].first, chunks[last - 1].end
        parts.append(text.slice(begin, begin + len(text.text[begin:end].rstrip())))
    return parts


def _is_wide(char: str) -> bool:
    return east_asian_width(char) in "WF" and not "\uac00" <= char <= "\ud7af"  # Korean has spaces
