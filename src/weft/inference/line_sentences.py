"""A line of several sentences: their requests, and the translation of the line from theirs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from weft.decoding.constraints.request import Request
from weft.inference.translation import EMPTY_OUTPUT, Alternative, ProtectedSpan, Translation
from weft.text.marked_sentences import Sentence, split_sentences
from weft.text.marked_text import MarkedText
from weft.text.sentences import SentenceSplitter
from weft.text.span_patterns import Span, SpanKind, find_spans
from weft.text.word_alignment import WordLink

if TYPE_CHECKING:
    from weft.decoding.constraints.constrained_decoding import ConstraintCheck


@dataclass(frozen=True)
class SplitLine:
    """A line as sentences and gaps, which are copied. Spans are those of the line, and none is in two sentences."""

    request: Request
    spans: tuple[Span, ...]
    sentences: tuple[Sentence, ...]

    @property
    def requests(self) -> tuple[Request, ...]:
        """The request of each sentence; the prefix is for the first one, all else for each."""
        prefix, bias = self.request.prefix, self.request.prefix_bias
        requests = [
            replace(
                self.request,
                text=self.request.text[first:end].replace("\n", " "),
                prefix="",
                prefix_bias=None,
                protect=(),
                spans=tuple(_shift(self.spans[number], -first) for number in spans),
            )
            for first, end, spans in self.sentences
        ]
        return (replace(requests[0], prefix=prefix, prefix_bias=bias), *requests[1:]) if requests else ()

    def join(self, translations: Sequence[Translation]) -> Translation:
        """Return the translation of the line, with those of its sentences if there are several."""
        text, length = self.request.text, len(self.request.text)
        if [(sentence.first, sentence.end) for sentence in self.sentences] == [(0, length)]:
            return replace(translations[0], source=text) if "\n" in text else translations[0]
        if not self.sentences:
            best = EMPTY_OUTPUT._replace(text=text)
            return Translation(text, (best,), protected=tuple(map(_copied, self.spans)), spans=self.spans)
        bounds = [0, *(bound for first, end, _ in self.sentences for bound in (first, end)), length]
        gaps = [text[first:end] for first, end in zip(bounds[::2], bounds[1::2], strict=True)]
        offsets, position = list[int](), len(gaps[0])
        for translation, gap in zip(translations, gaps[1:], strict=True):
            offsets.append(position)
            position += len(translation.text) + len(gap)
        joined = replace(
            translations[0],
            source=text,
            alternatives=tuple(_join_alternatives(translations, gaps)),
            truncated=any(translation.truncated for translation in translations),
            constraint_checks=tuple(_join_checks(translations)),
            protected=tuple(self._join_protected(translations)),
            spans=tuple(self._join_spans(translations, offsets)),
            alignment=self._join_alignments(translations, offsets),
        )
        if len(translations) == 1:
            return replace(joined, sentences=(translations[0],))
        return replace(
            joined, sentences=tuple(translations), confidence=None, attention=None, top_tokens=(), analysis=None
        )

    def _join_spans(self, translations: Sequence[Translation], offsets: Sequence[int]) -> Iterator[Span]:
        """The spans of the sentences, and those between them."""
        number, shift = 0, 0
        for sentence, translation, offset in zip(self.sentences, translations, offsets, strict=True):
            yield from (_shift(span, shift) for span in self.spans[number : sentence.spans.start])
            yield from (_shift(span, offset) for span in translation.spans)
            number, shift = sentence.spans.stop, offset + len(translation.text) - sentence.end
        yield from (_shift(span, shift) for span in self.spans[number:])

    def _join_protected(self, translations: Sequence[Translation]) -> Iterator[ProtectedSpan]:
        """How the spans of the sentences were placed; those between them are copied."""
        number = 0
        for sentence, translation in zip(self.sentences, translations, strict=True):
            yield from map(_copied, self.spans[number : sentence.spans.start])
            yield from translation.protected
            number = sentence.spans.stop
        yield from map(_copied, self.spans[number:])

    def _join_alignments(
        self, translations: Sequence[Translation], offsets: Sequence[int]
    ) -> tuple[WordLink, ...] | None:
        if any(translation.alignment is None for translation in translations):
            return None
        return tuple(
            WordLink(sentence.first + link.source, offset + link.target)
            for sentence, translation, offset in zip(self.sentences, translations, offsets, strict=True)
            for link in translation.alignment or ()
        )


def split_line(
    request: Request, splitter: SentenceSplitter | None, default_kinds: Sequence[SpanKind] = ()
) -> SplitLine:
    """Find the spans and the sentences of a line; without a splitter, or with required phrases, it is one sentence.

    Nobody knows which sentence should contain the phrases. default_kinds: those of a request that names none.
    """
    marked = request_text(request, default_kinds)
    is_constrained_blank = not (request.text.strip() or request.is_plain)  # the backend reports its constraints
    if splitter is None or request.include or is_constrained_blank:
        return SplitLine(request, marked.spans, (Sentence(0, len(request.text), range(len(marked.spans))),))
    return SplitLine(request, marked.spans, tuple(split_sentences(marked, splitter)))


def request_text(request: Request, default_kinds: Sequence[SpanKind]) -> MarkedText:
    """Return the text with the spans of the request, and those of its kinds that do not overlap them."""
    found = find_spans(request.text, default_kinds if request.protect is None else request.protect)
    if not request.spans:
        return MarkedText(request.text, tuple(found))
    given, spans, number = request.spans, list[Span](), 0
    for span in found:
        while number < len(given) and given[number].end <= span.first:
            spans.append(given[number])
            number += 1
        if number == len(given) or given[number].first >= span.end:
            spans.append(span._replace(role="single"))  # it may be part of an element that crosses a given one
    return MarkedText(request.text, (*spans, *given[number:]))


def _copied(span: Span) -> ProtectedSpan:
    return ProtectedSpan(span.kind, span.text, "copy")


def _shift(span: Span, offset: int) -> Span:
    return span._replace(first=span.first + offset, end=span.end + offset)


def _join_alternatives(translations: Sequence[Translation], gaps: Sequence[str]) -> Iterator[Alternative]:
    """The n-th alternatives of the sentences, or their last ones; tokens only of a single sentence."""
    for number in range(max(len(translation.alternatives) for translation in translations)):
        parts = [few[min(number, len(few) - 1)] for few in (translation.alternatives for translation in translations)]
        text = gaps[0] + "".join(part.text + gap for part, gap in zip(parts, gaps[1:], strict=True))
        if len(parts) == 1:
            yield parts[0]._replace(text=text)
        else:
            yield Alternative(text, sum(part.score for part in parts), (), (), all(part.finished for part in parts))


def _join_checks(translations: Sequence[Translation]) -> Iterator[ConstraintCheck]:
    """The checks of all sentences; an excluded phrase is reported once, and met if it is nowhere."""
    checks = [check for translation in translations for check in translation.constraint_checks]
    broken = {check.phrases for check in checks if check.kind == "exclude" and not check.met}
    reported = set[tuple[str, ...]]()
    for check in checks:
        if check.kind != "exclude":
            yield check
        elif check.phrases not in reported:
            reported.add(check.phrases)
            yield check._replace(met=check.phrases not in broken)
