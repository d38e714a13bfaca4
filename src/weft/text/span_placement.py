"""Places spans in the translation of a line that was translated without them, by word alignment.

Open tags go before the first, close tags after the last target word that is aligned with the inside of an element;
single spans after the target of the word that they follow without a space, else before that of the next word. Every
span appears once, and elements stay nested.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple, TypeAlias

from weft.text.marked_text import MarkedText, partner_indices
from weft.text.span_patterns import Span
from weft.text.word_alignment import NON_SPACE, WordLink

SEPARATOR_BEFORE = re.compile(r"[,;:]?\s{1,9}\Z")
SEPARATOR_AFTER = re.compile(r"[,;:]?\s{1,9}")
BRACKET_BEFORE = re.compile(r"\s{0,9}[(\[«“\"']\Z")
BRACKET_AFTER = re.compile(r"[)\]»”\"']")
LEADING_PUNCTUATION = re.compile(r"[^\w\s]*")
MAX_SEPARATOR = 10


class SpanSlot(NamedTuple):
    """The place of a removed span. before, after: text that was removed with it; filler: text that replaces it."""

    number: int
    before: str = ""
    after: str = ""
    filler: str = ""


Piece: TypeAlias = str | SpanSlot


@dataclass(frozen=True)
class SlottedText:
    """A text without its spans, with white space and punctuation as if they had never been there."""

    spans: tuple[Span, ...]
    pieces: tuple[Piece, ...]

    @cached_property
    def plain(self) -> str:
        return "".join(piece if isinstance(piece, str) else piece.filler for piece in self.pieces)

    @cached_property
    def slots(self) -> list[SpanSlot]:
        """The slots in order, one for each span."""
        return [piece for piece in self.pieces if not isinstance(piece, str)]

    @cached_property
    def offsets(self) -> list[int]:
        """The offset of each slot in the plain text."""
        found, length = list[int](), 0
        for piece in self.pieces:
            if isinstance(piece, str):
                length += len(piece)
            else:
                found.append(length)
                length += len(piece.filler)
        return found

    def restore(self, numbers: Sequence[int]) -> MarkedText:
        """Return the text with these spans, and without the others."""
        kept, parts = set(numbers), list[str | Span]()
        for piece in self.pieces:
            if isinstance(piece, str):
                parts.append(piece)
            elif piece.number in kept:
                parts += [piece.before, self.spans[piece.number], piece.after]
            else:
                parts.append(piece.filler)
        return MarkedText.join(part for part in parts if part)


def remove_spans(marked: MarkedText) -> SlottedText:
    """Remove the spans; with a single one also the separators or brackets around it that would be left over."""
    texts = _texts_around(marked)
    followed = [False] * len(texts)  # whether text follows the span with this number
    for number in reversed(range(len(marked.spans))):
        followed[number] = bool(texts[number + 1]) or followed[number + 1]
    pieces: list[Piece] = [texts[0]]
    last = texts[0][-1:]  # of the plain text so far
    for number, span in enumerate(marked.spans):
        left, right = pieces[-1] if isinstance(pieces[-1], str) else "", texts[number + 1]
        slot = SpanSlot(number)
        if span.role == "single":
            slot = _make_slot(number, (left, last, right), is_followed=followed[number])
            if slot.before:
                kept = left[: len(left) - len(slot.before)]
                pieces[-1], last = kept, kept[-1:]
        rest = right[len(slot.after) :]
        pieces += (slot, rest)
        last = rest[-1:] or slot.filler or last
    return SlottedText(marked.spans, tuple(piece for piece in pieces if piece != ""))


def _texts_around(marked: MarkedText) -> list[str]:
    """The text before the first span, between spans, and after the last one."""
    bounds = [0, *(bound for span in marked.spans for bound in (span.first, span.end)), len(marked.text)]
    return [marked.text[first:end] for first, end in zip(bounds[::2], bounds[1::2], strict=True)]


def _make_slot(number: int, around: tuple[str, str, str], *, is_followed: bool) -> SpanSlot:
    """around: the text directly before, the last character of the text so far, and the text directly after."""
    left, last, right = around
    tail, next_char = left[-MAX_SEPARATOR:], right[:1]
    opening, closing = BRACKET_BEFORE.search(tail), BRACKET_AFTER.match(right)
    if opening and closing:
        return SpanSlot(number, opening[0], closing[0])
    separator = SEPARATOR_BEFORE.search(tail)
    if separator and (not is_followed or (next_char and not next_char.isalnum() and not next_char.isspace())):
        return SpanSlot(number, before=separator[0])
    following = SEPARATOR_AFTER.match(right)
    if following and (not last or (last.isspace() and next_char.isspace())):
        return SpanSlot(number, after=following[0])
    return SpanSlot(number, filler=" " if last.isalnum() and next_char.isalnum() else "")


class WordMap:
    """The target words of source words, by offsets; links connect the first characters of words."""

    def __init__(self, source: str, target: str, links: Sequence[WordLink]):
        self.source, self.target = source, target
        self.words = [match.span() for match in NON_SPACE.finditer(source)]
        self.starts = [first for first, _ in self.words]
        self.target_words = [match.span() for match in NON_SPACE.finditer(target)]
        target_starts = [first for first, _ in self.target_words]
        self.aligned: dict[int, tuple[int, int]] = {}  # source word: its first and its last target word
        for link in links:
            word, other = bisect_right(self.starts, link.source) - 1, bisect_right(target_starts, link.target) - 1
            if word >= 0 and other >= 0:
                first, last = self.aligned.get(word, (other, other))
                self.aligned[word] = min(first, other), max(last, other)
        self.aligned_words = sorted(self.aligned)
        letters = [position for position, char in enumerate(source) if char.isalnum()]
        self.first_letter, self.last_letter = (letters[0], letters[-1]) if letters else (len(source), -1)

    def element(self, first: int, end: int) -> tuple[int, int]:
        """The bounds in the target of an element around source[first:end]."""
        if first <= self.first_letter <= self.last_letter < end:
            return self._target_start(first > 0), self._target_end(end < len(self.source))
        words = range(max(0, bisect_right(self.starts, first) - 1), bisect_left(self.starts, end))
        inside = [word for word in words if self.words[word][1] > first]
        bounds = [self.aligned[word] for word in inside if word in self.aligned]
        if first == end or not bounds:
            place = self.place(first)
            return place, place
        low, high = min(low for low, _ in bounds), max(high for _, high in bounds)
        start, stop = self.target_words[low][0], self.target_words[high][1]
        if _is_punctuation(self.source[self.words[inside[0]][0] : first]):
            start += _leading(self.target[start:stop])
        if _is_punctuation(self.source[end : self.words[inside[-1]][1]]):
            stop -= _trailing(self.target[start:stop])
        return start, stop

    def place(self, position: int) -> int:
        """The offset in the target for a span at this offset of the source."""
        if position <= self.first_letter:
            return self._target_start(bool(self.source[:position].strip()))
        if position > self.last_letter:
            return self._target_end(bool(self.source[position:].strip()))
        word = bisect_right(self.starts, position) - 1
        first, end = self.words[word]
        if position > end:
            return self._before(word + 1, after_punctuation=False)
        head, tail = self.source[first:position], self.source[position:end]
        if not head or _is_punctuation(head):
            return self._before(word, after_punctuation=bool(head))
        return self._after(word, before_punctuation=_is_punctuation(tail))

    def _target_start(self, after_punctuation: bool) -> int:
        return _leading(self.target) if after_punctuation else 0

    def _target_end(self, before_punctuation: bool) -> int:
        return len(self.target) - (_trailing(self.target) if before_punctuation else 0)

    def _before(self, word: int, *, after_punctuation: bool) -> int:
        number = bisect_left(self.aligned_words, word)
        if number == len(self.aligned_words):
            return self._after(word, before_punctuation=False) if self.aligned_words else self._proportional(word)
        first, end = self.target_words[self.aligned[self.aligned_words[number]][0]]
        return first + (_leading(self.target[first:end]) if after_punctuation else 0)

    def _after(self, word: int, *, before_punctuation: bool) -> int:
        number = bisect_right(self.aligned_words, word)
        if not number:
            return self._before(word, after_punctuation=False) if self.aligned_words else self._proportional(word)
        first, end = self.target_words[self.aligned[self.aligned_words[number - 1]][1]]
        return end - (_trailing(self.target[first:end]) if before_punctuation else 0)

    def _proportional(self, word: int) -> int:
        """Without any alignment: the word at the same share of the target."""
        if not self.target_words:
            return len(self.target)
        return self.target_words[word * len(self.target_words) // max(1, len(self.words))][0]


def _is_punctuation(text: str) -> bool:
    return text != "" and not any(map(str.isalnum, text))


def _leading(text: str) -> int:
    match = LEADING_PUNCTUATION.match(text)
    return len(match[0]) if match and match.end() < len(text.rstrip()) else 0


def _trailing(text: str) -> int:
    """The number of characters after the last letter or digit; 0 if there is none."""
    for count, char in enumerate(reversed(text)):
        if char.isalnum():
            return count
    return 0


@dataclass
class SpanNode:
    """An element or a single span (then without `close`), and where it goes in the target.

    An element whose start or end tag is in another sentence extends to the start or end of this one.
    """

    open: int | None
    close: int | None = None
    start: int = 0
    end: int = 0
    is_element: bool = False
    children: list[SpanNode] = field(default_factory=list)


def place_spans(
    slotted: SlottedText, target: str, links: Sequence[WordLink], known: Mapping[int, int] | None = None
) -> MarkedText:
    """Return the target with the spans. links: between the plain text and the target. known: offsets of spans in it."""
    words, known = WordMap(slotted.plain, target, links), known or {}
    writer = _Writer(slotted, target, frozenset(known))
    frames: list[tuple[Iterator[SpanNode], int, int | None]] = [
        (_children(_make_tree(slotted, words, known)), len(target), None)
    ]
    while frames:  # not recursive: elements may be nested deeply
        children, limit, close = frames[-1]
        node = next(children, None)
        if node is None:
            writer.advance(limit)
            writer.write_tag(close)
            frames.pop()
        elif not node.is_element:
            writer.write_single(node.open, min(node.start, limit))
        else:
            start = min(max(node.start, writer.position), limit)
            writer.advance(start)
            writer.write_tag(node.open)
            frames.append((_children(node), min(max(node.end, start), limit), node.close))
    return MarkedText.join(writer.parts)


def _children(node: SpanNode) -> Iterator[SpanNode]:
    return iter(sorted(node.children, key=lambda child: child.start))


def _make_tree(slotted: SlottedText, words: WordMap, known: Mapping[int, int]) -> SpanNode:
    partners, offsets, length = partner_indices(slotted.spans), slotted.offsets, len(slotted.plain)
    root = SpanNode(None)
    opened = [root]

    def finish(node: SpanNode) -> None:
        """Set the bounds of an element, which contains its children."""
        first = 0 if node.open is None else offsets[node.open]
        start, end = words.element(first, length if node.close is None else offsets[node.close])
        start = 0 if node.open is None else known.get(node.open, start)
        end = len(words.target) if node.close is None else max(start, known.get(node.close, end))
        node.start = min([start, *(child.start for child in node.children)])
        node.end = max([end, *(child.end for child in node.children)])

    for number, span in enumerate(slotted.spans):
        if span.role == "open":
            opened.append(SpanNode(number, is_element=True))
            opened[-2].children.append(opened[-1])
        elif span.role == "close" and number in partners:
            opened[-1].close = number
            finish(opened.pop())
        elif span.role == "close":
            node = SpanNode(None, number, is_element=True, children=root.children)
            root.children = [node]
            finish(node)
        else:
            place = known[number] if number in known else words.place(offsets[number])
            opened[-1].children.append(SpanNode(number, start=place, end=place))
    for node in reversed(opened[1:]):
        finish(node)
    return root


class _Writer:
    """Writes the target from left to right, with spans in between."""

    def __init__(self, slotted: SlottedText, target: str, known: frozenset[int]):
        self.slotted, self.target, self.known = slotted, target, known
        self.parts: list[str | Span] = []
        self.position = 0

    def advance(self, position: int) -> None:
        if position > self.position:
            self.parts.append(self.target[self.position : position])
            self.position = position

    def write_tag(self, number: int | None) -> None:
        if number is not None:
            self.parts.append(self.slotted.spans[number])

    def write_single(self, number: int | None, position: int) -> None:
        """Write a single span, with the separators that were removed with it."""
        if number is None:
            return
        slot = self.slotted.slots[number]
        if number in self.known:
            self.advance(position)
            self.write_tag(number)
            return
        if slot.before[:1] in (",", ";", ":"):  # they follow a word without a space
            position -= len(self.target[:position]) - len(self.target[:position].rstrip())
        self.advance(position)
        last = "" if not self.parts else self.parts[-1] if isinstance(self.parts[-1], str) else self.parts[-1].text
        next_char = self.target[self.position : self.position + 1]
        before = slot.before.lstrip(" ,;:") if not last else slot.before.lstrip() if last[-1].isspace() else slot.before
        if not before and slot.after[-1:].isspace() and last and last[-1].isalnum():
            before = " "
        after = slot.after if next_char.isalnum() else slot.after.rstrip()
        self.parts += [part for part in (before, self.slotted.spans[number], after) if part]
