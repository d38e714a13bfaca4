"""Text with spans that are carried into its translation: placeholders, inline tags, URLs, emoji.

A model that was trained for it (`text.tag_tokens`) reads a span as one tag token, and learns to put that token in the
right place of its output, as in Bergamot and OpenNMT. Tag tokens are characters of a private use area, so that marked
text is an ordinary string for tokenizers and backends:

    See <b>{n} files</b>   ->   See ⟦(1⟧⟦1⟧ files⟦)1⟧
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple

from weft.text.span_patterns import Span, SpanKind, find_spans

SINGLE_TAGS = tuple(map(chr, range(0x10FF00, 0x10FF10)))
OPEN_TAGS = tuple(map(chr, range(0x10FF10, 0x10FF18)))
CLOSE_TAGS = tuple(map(chr, range(0x10FF18, 0x10FF20)))  # of the open tag with the same index
TAGS = SINGLE_TAGS + OPEN_TAGS + CLOSE_TAGS
TAG_CLASS = rf"\x{{{ord(TAGS[0]):X}}}-\x{{{ord(TAGS[-1]):X}}}"  # in a regular expression of the tokenizers library
TAG_NAMES = {  # how tags are displayed
    tag: f"⟦{mark}{number}⟧"
    for mark, tags in (("", SINGLE_TAGS), ("(", OPEN_TAGS), (")", CLOSE_TAGS))
    for number, tag in enumerate(tags, 1)
}
_REPLACE_TAGS = dict.fromkeys(map(ord, TAGS), "\ufffd")
_PAIR_OF_TAG = {tag: number for tags in (OPEN_TAGS, CLOSE_TAGS) for number, tag in enumerate(tags)}


class MarkedText(NamedTuple):
    """A text with its spans, in order and without overlap; open and close spans are paired and nested."""

    text: str
    spans: tuple[Span, ...] = ()

    @classmethod
    def find(cls, text: str, kinds: Sequence[SpanKind]) -> MarkedText:
        """Return a text with the spans of these kinds in it."""
        return cls(text, tuple(find_spans(text, kinds)))

    @classmethod
    def join(cls, parts: Iterable[str | Span]) -> MarkedText:
        """Join text and spans; the offsets of the spans are computed."""
        texts, spans, length = list[str](), list[Span](), 0
        for part in parts:
            text = part if isinstance(part, str) else part.text
            if not isinstance(part, str):
                spans.append(part._replace(first=length, end=length + len(text)))
            texts.append(text)
            length += len(text)
        return cls("".join(texts), tuple(spans))

    def parts(self) -> Iterator[str | Span]:
        """Yield the spans and the text between them, which is never empty."""
        reached = 0
        for span in self.spans:
            if span.first > reached:
                yield self.text[reached : span.first]
            yield span
            reached = span.end
        if reached < len(self.text):
            yield self.text[reached:]

    def render(self, escape: Callable[[str], str]) -> str:
        """Return the text with everything outside of the spans escaped, as the syntax of a document requires."""
        return "".join(escape(part) if isinstance(part, str) else part.text for part in self.parts())

    def slice(self, first: int, end: int) -> MarkedText:
        """Return a part of the text, which cuts no span; tags without their partner become single ones."""
        inside = [s._replace(first=s.first - first, end=s.end - first) for s in self.spans if first <= s.first < end]
        partners = partner_indices(inside)
        spans = (
            span._replace(role="single") if span.role != "single" and partners.get(number) is None else span
            for number, span in enumerate(inside)
        )
        return MarkedText(self.text[first:end], tuple(spans))


def partner_indices(spans: Sequence[Span]) -> dict[int, int]:
    """Return the index of the other tag of its element for each open and close span that has one."""
    partners, opened = dict[int, int](), list[int]()
    for number, span in enumerate(spans):
        if span.role == "open":
            opened.append(number)
        elif span.role == "close" and opened:
            start = opened.pop()
            partners |= {start: number, number: start}
    return partners


def replace_tag_characters(text: str) -> str:
    """Return a text with U+FFFD, the character for what cannot be decoded, in place of characters that are tags."""
    return text.translate(_REPLACE_TAGS)


class TaggedText(NamedTuple):
    """A text in which each span is a tag, and the span that each tag stands for."""

    text: str
    spans: dict[str, Span]

    def restore(self, output: str) -> MarkedText | None:
        """Return an output with its tags replaced by the spans; None unless it has each tag once, and pairs nested."""
        return restore_spans(output, self.spans) if tags_are_intact(output, self.spans) else None


def replace_spans(marked: MarkedText) -> TaggedText | None:
    """Return the text with a tag for each span, numbered in order; None if there are more spans than tags.

    Characters of the text that are tags themselves become U+FFFD.
    """
    partners, spans, pieces = partner_indices(marked.spans), dict[str, Span](), list[str]()
    singles, pairs, pair_of = iter(SINGLE_TAGS), iter(range(len(OPEN_TAGS))), dict[int, int]()
    number = 0
    for part in marked.parts():
        if isinstance(part, str):
            pieces.append(replace_tag_characters(part))
            continue
        partner = partners.get(number)
        if partner is None:
            tag = next(singles, None)
        elif partner > number:
            pair = next(pairs, None)
            tag = None if pair is None else OPEN_TAGS[pair]
            pair_of[partner] = -1 if pair is None else pair
        else:
            tag = CLOSE_TAGS[pair_of[number]]
        if tag is None:
            return None
        spans[tag] = part
        pieces.append(tag)
        number += 1
    return TaggedText("".join(pieces), spans)


def tags_are_intact(output: str, tags: Iterable[str]) -> bool:
    """Whether an output has each of these tags once, no other, and pairs nested."""
    found = [char for char in output if "\U0010ff00" <= char <= "\U0010ff1f"]
    if sorted(found) != sorted(tags):
        return False
    opened = list[int]()
    for tag in found:
        if tag in OPEN_TAGS:
            opened.append(_PAIR_OF_TAG[tag])
        elif tag in CLOSE_TAGS and (not opened or opened.pop() != _PAIR_OF_TAG[tag]):
            return False
    return not opened


def restore_spans(output: str, spans: dict[str, Span]) -> MarkedText:
    """Return the output with the spans in place of their tags; other tags disappear."""
    pieces: list[str | Span] = []
    for char in output:
        if char in spans:
            pieces.append(spans[char])
        elif char not in TAGS:
            pieces.append(char)
    return MarkedText.join(pieces)
