"""A sentence with spans on its way through a model: what the model reads, and the spans put into what it returns.

A model with tag tokens reads a tag for each span, any other model the sentence without them. Spans at the start and end
of a sentence are copied.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import count
from typing import NamedTuple

from weft.core.codec import Codec
from weft.core.errors import UserError
from weft.decoding.constraints.request import Request
from weft.inference.translation import EMPTY_OUTPUT, ProtectedSpan, SpanMethod, Translation
from weft.text.marked_text import (
    OPEN_TAGS,
    SINGLE_TAGS,
    TAGS,
    MarkedText,
    partner_indices,
    replace_spans,
)
from weft.text.span_patterns import Span, SpanKind, find_spans
from weft.text.span_placement import SlottedText, SpanSlot, place_spans, remove_spans
from weft.text.tokenizer import Tokenizer, is_tokenizer
from weft.text.word_alignment import NON_SPACE, WordLink

DEFAULT_KINDS: tuple[SpanKind, ...] = ("markup", "urls", "emails", "placeholders", "emoji")
TAG_SET = frozenset(TAGS)


def has_tag_tokens(source: Codec, target: Tokenizer) -> bool:
    """Whether both sides of a model have tag tokens."""
    return is_tokenizer(source) and bool(source.tag_ids and target.tag_ids)


class OffsetMap:
    """Converts offsets of one text to those of another, given where parts of the first begin in the second."""

    def __init__(self, starts: Sequence[tuple[int, int]]):
        self._starts = [start for start, _ in starts] or [0]
        self._others = [other for _, other in starts] or [0]

    def __call__(self, offset: int) -> int:
        number = max(0, bisect_right(self._starts, offset) - 1)
        return self._others[number] + offset - self._starts[number]


class StrippedOutput(NamedTuple):
    """An output without tags, the offset of the first of each tag in it, and the offsets of the rest."""

    text: str
    tags: dict[str, int]
    offsets: OffsetMap


def strip_tags(output: str, known: Mapping[str, int] | frozenset[str]) -> StrippedOutput:
    """Remove all tags; with an unknown one also the space that would be left over."""
    pieces, tags, starts, length = list[str](), dict[str, int](), [(0, 0)], 0
    skips_space = False
    for position, char in enumerate(output):
        if char in TAG_SET:
            if char in known and char not in tags:
                tags[char] = length
            else:
                skips_space = not pieces or pieces[-1] == " "
            continue
        if not (skips_space and char == " "):
            starts.append((position, length))
            pieces.append(char)
            length += 1
        skips_space = False
    return StrippedOutput("".join(pieces), tags, OffsetMap(starts))


@dataclass(frozen=True)
class SpanSentence:
    """A sentence, its spans, and the copied ones at its start (`head`) and end (`tail`).

    tags: the number of the span in `core` that each tag stands for; empty if the model has no tag tokens.
    """

    request: Request
    head: MarkedText
    core: SlottedText
    tail: MarkedText
    text: str  # what the model reads
    tags: Mapping[str, int]
    has_tag_tokens: bool

    @property
    def has_words(self) -> bool:
        return any(isinstance(piece, str) and any(map(str.isalnum, piece)) for piece in self.core.pieces)

    @property
    def needs_translation(self) -> bool:
        """False if the sentence consists of spans and punctuation, which are copied."""
        return self.has_words or not self.request.spans

    @property
    def needs_alignment(self) -> bool:
        """Whether some spans have no tags."""
        return len(self.tags) < len(self.core.spans)

    @cached_property
    def model_request(self) -> Request:
        """The request in the model's words; raise UserError if a constraint needs a span that the model cannot see."""
        request = replace(self.request, text=self.text, spans=(), protect=())
        if not self.request.spans or not (request.prefix or request.include):
            return request
        include = tuple(tuple(map(self._tag_phrase, phrases)) for phrases in request.include)
        return replace(request, prefix=self._tag_phrase(request.prefix), include=include)

    @property
    def search_request(self) -> Request:
        """The request with all tags as required phrases."""
        request, tags = self.model_request, tuple((tag,) for tag in self.tags)
        prefix_and_phrases = request.prefix + "".join(map("".join, request.include))
        required = tuple(tag for tag in tags if tag[0] not in prefix_and_phrases)
        return replace(request, include=(*request.include, *required))

    def _tag_phrase(self, phrase: str) -> str:
        kinds, tag_of = {span.kind for span in self.core.spans}, dict[str, list[str]]()
        for tag, number in self.tags.items():
            tag_of.setdefault(self.core.spans[number].text, []).append(tag)
        parts = list[str]()
        for part in MarkedText(phrase, tuple(find_spans(phrase, tuple(kinds)))).parts():
            if isinstance(part, str):
                parts.append(part)
            elif not tag_of.get(part.text):
                problem = "contains a protected span, which this model cannot place within a constraint"
                raise UserError(f'"{phrase}" {problem}: {part.text}. Omit the constraint, or do not protect it')
            else:
                parts.append(tag_of[part.text].pop(0))
        return "".join(parts)

    # From outputs to text

    def restore(self, output: str) -> MarkedText | None:
        """Return the core of an output with its tags replaced; None unless each span has its tag, properly nested."""
        order = [self.tags.get(char, -1) for char in output if char in TAG_SET]
        if sorted(order) != [*range(len(self.core.spans))] or not is_nested(order, self.core.spans):
            return None
        parts = (self.core.spans[self.tags[char]] if char in TAG_SET else char for char in output)
        return MarkedText.join(parts)

    def place(self, output: str, links: Sequence[WordLink]) -> MarkedText:
        """Return the core of an output with its spans where its tags are, the others placed by word alignment."""
        stripped = strip_tags(output, frozenset(self.tags))
        known = {self.tags[tag]: place for tag, place in stripped.tags.items()}
        plain_links = [
            WordLink(self._plain_offsets(source), stripped.offsets(target))
            for link in links
            for source in _word_offsets(self.text, link.source)
            for target in _word_offsets(output, link.target)
        ]
        return place_spans(self.core, stripped.text, plain_links, known)

    def without_tags(self, translation: Translation) -> Translation:
        """A translation of a sentence without spans: any tag in it is removed."""
        if not self.has_tag_tokens or not any(char in TAG_SET for one in translation.alternatives for char in one.text):
            return replace(translation, source=self.request.text)
        outputs = [strip_tags(one.text, frozenset()) for one in translation.alternatives]
        alternatives = zip(translation.alternatives, outputs, strict=True)
        links = translation.alignment
        aligned = None if links is None else tuple(WordLink(a, outputs[0].offsets(b)) for a, b in links)
        texts = tuple(one._replace(text=output.text) for one, output in alternatives)
        return replace(translation, source=self.request.text, alternatives=texts, alignment=aligned)

    def copy(self) -> Translation:
        """The translation of a sentence that consists of spans and punctuation."""
        marked = self.core.restore(range(len(self.core.spans)))
        empty = Translation(self.text, (EMPTY_OUTPUT,))
        return self.finish(empty, marked, "copy", ())

    def finish(
        self, translation: Translation, core: MarkedText, method: SpanMethod, others: Sequence[MarkedText]
    ) -> Translation:
        """Return the translation of the whole sentence. others: further alternatives, in the order of their list."""
        texts = [self._with_outer_spans(marked) for marked in (core, *others)]
        counts: tuple[tuple[SpanMethod, tuple[Span, ...]], ...] = (
            ("copy", self.head.spans),
            (method, self.core.spans),
            ("copy", self.tail.spans),
        )
        methods = [name for name, spans in counts for _ in spans]
        inclusions = count()
        checks = (
            check._replace(phrases=tuple(map(self._restore_phrase, check.phrases)))
            for check in translation.constraint_checks
            if check.kind != "include" or next(inclusions) < len(self.request.include)
        )
        return replace(
            translation,
            source=self.request.text,
            alternatives=tuple(
                one._replace(text=marked.text) for one, marked in zip(translation.alternatives, texts, strict=False)
            ),
            constraint_checks=tuple(checks),
            protected=tuple(
                ProtectedSpan(span.kind, span.text, name)
                for span, name in zip(self.request.spans, methods, strict=True)
            ),
            spans=texts[0].spans,
            alignment=self._final_alignment(translation, texts[0]),
        )

    def _with_outer_spans(self, core: MarkedText) -> MarkedText:
        return MarkedText.join([*self.head.parts(), *core.parts(), *self.tail.parts()])

    def _restore_phrase(self, phrase: str) -> str:
        return "".join(self.core.spans[self.tags[char]].text if char in self.tags else char for char in phrase)

    def _final_alignment(self, translation: Translation, final: MarkedText) -> tuple[WordLink, ...] | None:
        """The word alignment between the sentence and its translation, where each span is aligned with itself."""
        if translation.alignment is None:
            return None
        output, head = strip_tags(translation.text, frozenset(self.tags)), len(self.head.text)
        places = _match_letters(output.text, final)
        words = [
            WordLink(head + self._source_offsets(source), places[output.offsets(target)])
            for link in translation.alignment
            for source in _word_offsets(self.text, link.source)
            for target in _word_offsets(translation.text, link.target)
        ]
        targets = _same_order(self.request.spans, final.spans)
        spans = [WordLink(span.first, other.first) for span, other in zip(self.request.spans, targets, strict=True)]
        return (*words, *spans)

    @cached_property
    def _plain_offsets(self) -> OffsetMap:
        """From what the model reads to the core without spans."""
        return self._offset_map(lambda slot: len(slot.filler))

    @cached_property
    def _source_offsets(self) -> OffsetMap:
        """From what the model reads to the core."""
        spans = self.core.spans
        return self._offset_map(lambda slot: len(slot.before + spans[slot.number].text + slot.after))

    def _offset_map(self, length_of: Callable[[SpanSlot], int]) -> OffsetMap:
        starts, own, other, tagged = list[tuple[int, int]](), 0, 0, set(self.tags.values())
        for piece in self.core.pieces:
            starts.append((own, other))
            if isinstance(piece, str):
                own, other = own + len(piece), other + len(piece)
            else:
                own += len(piece.before + piece.after) + 1 if piece.number in tagged else len(piece.filler)
                other += length_of(piece)
        return OffsetMap(starts)


def prepare_sentence(request: Request, *, has_tag_tokens: bool) -> SpanSentence:
    """Return a request, whose spans are all in `spans`, as the sentence that a model with or without tag tokens reads.

    With more spans than tags, the last ones have none.
    """
    head, core, tail = _split_outer_markup(request)
    slotted = remove_spans(core)
    if not has_tag_tokens:
        return SpanSentence(request, head, slotted, tail, slotted.plain, {}, has_tag_tokens=False)
    numbers = _taggable(core.spans)
    tagged = replace_spans(slotted.restore(numbers))
    if tagged is None:
        raise ValueError(f"{len(numbers)} spans need more tags than there are")
    return SpanSentence(
        request, head, slotted, tail, tagged.text, dict(zip(tagged.spans, numbers, strict=True)), has_tag_tokens=True
    )


def _split_outer_markup(request: Request) -> tuple[MarkedText, MarkedText, MarkedText]:
    """Split off markup at both ends, which a model need not see: elements around everything, and single tags."""
    text, spans, partners = request.text, request.spans, partner_indices(request.spans)
    low, high, first, end = 0, len(spans), 0, len(text)
    while low < high and not request.prefix:
        if spans[low].kind == "markup" and spans[low].first == first and low not in partners:
            first, low = spans[low].end, low + 1
        elif spans[high - 1].kind == "markup" and spans[high - 1].end == end and high - 1 not in partners:
            end, high = spans[high - 1].first, high - 1
        elif (spans[low].kind, spans[low].first, spans[high - 1].end) == ("markup", first, end) and (
            partners.get(low) == high - 1
        ):
            first, end, low, high = spans[low].end, spans[high - 1].first, low + 1, high - 1
        else:
            break
    if low or high < len(spans):
        inner = text[first:end]
        first, end = first + len(inner) - len(inner.lstrip()), end - (len(inner) - len(inner.rstrip()))
        first, end = min(first, end), max(first, end)
    core = tuple(span._replace(first=span.first - first, end=span.end - first) for span in spans[low:high])
    tail = tuple(span._replace(first=span.first - end, end=span.end - end) for span in spans[high:])
    return MarkedText(text[:first], spans[:low]), MarkedText(text[first:end], core), MarkedText(text[end:], tail)


def _taggable(spans: Sequence[Span]) -> list[int]:
    """The numbers of the first spans for which there are tags."""
    partners, singles, pairs, chosen = partner_indices(spans), len(SINGLE_TAGS), len(OPEN_TAGS), set[int]()
    for number in range(len(spans)):
        partner = partners.get(number)
        if partner is None and singles:
            singles -= 1
            chosen.add(number)
        elif partner is not None and partner > number and pairs:
            pairs -= 1
            chosen |= {number, partner}
    return sorted(chosen)


def is_nested(order: Sequence[int], spans: Sequence[Span]) -> bool:
    """Whether elements are nested if the spans stand in this order. Some may have started, or end, elsewhere."""
    partners, opened, closed = partner_indices(spans), list[int](), list[int]()
    for number in order:
        if spans[number].role == "open":
            opened.append(number)
        elif spans[number].role == "close" and number not in partners:
            closed.append(number)
            if opened:
                return False
        elif spans[number].role == "close" and (not opened or opened.pop() != partners[number]):
            return False
    unfinished = [number for number, span in enumerate(spans) if span.role == "open" and number not in partners]
    return opened == unfinished and closed == sorted(closed)


def _word_offsets(text: str, offset: int) -> list[int]:
    """The first character of the word at this offset that is no tag, if there is one."""
    word = NON_SPACE.match(text, offset)
    return [] if word is None else [number for number in range(*word.span()) if text[number] not in TAG_SET][:1]


def _match_letters(text: str, final: MarkedText) -> list[int]:
    """The offset of each character of a text, and of its end, in another that has more characters, and spans."""
    places, number, position = list[int](), 0, 0
    for part in final.parts():
        if isinstance(part, str):
            for offset, char in enumerate(part, position):
                if number < len(text) and char == text[number]:
                    places.append(offset)
                    number += 1
            position += len(part)
        else:
            position = part.end
    return [*places, *[position] * (len(text) + 1 - len(places))]


def _same_order(spans: Sequence[Span], others: Sequence[Span]) -> list[Span]:
    """Return the other spans, which are the same ones in another order, in the order of the first."""
    by_text: dict[tuple[str, str], list[Span]] = {}
    for other in others:
        by_text.setdefault((other.text, other.role), []).append(other)
    return [by_text[span.text, span.role].pop(0) for span in spans]
