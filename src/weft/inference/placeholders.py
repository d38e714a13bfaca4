"""Copies protected spans (URLs, markup, placeholders) unchanged into the translation: by constrained search, or,
where that is impossible, by splitting the line at the spans and translating what is between them.
"""

import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import count, pairwise
from typing import NamedTuple

from weft.core.codec import LineError
from weft.decoding.constraints.constrained_decoding import ConstraintCheck
from weft.decoding.constraints.request import Request
from weft.inference.translation import Alternative, ProtectedSpan, Translation
from weft.text.span_patterns import Span, find_spans, spans_preserved
from weft.text.word_alignment import WordLink, word_starts

TRANSLATABLE_TEXT = re.compile(r"\w(?:.*\w)?")  # from the first to the last letter or digit


class LineSegment(NamedTuple):
    """A part of a line that starts at `first`: copied, or, if it has a request, translated."""

    text: str
    first: int
    request: Request | None = None


def translate_with_protected_spans(
    requests: Sequence[Request],
    numbers: Sequence[int],
    translate: Callable[[Sequence[Request], Sequence[int]], list[Translation]],
    can_satisfy: Callable[[Request], bool],
    with_alignment: bool,
) -> list[Translation]:
    """Translate requests; spans of the kinds that a request protects appear unchanged in its translation.

    numbers: of their lines. translate: translates requests with these line numbers. can_satisfy: whether the search can
    be constrained to meet all constraints of a request. with_alignment: whether translations have word alignments.
    """

    def translate_rows(requests: Sequence[Request], rows: Sequence[int]) -> list[Translation]:
        try:
            return translate(requests, [numbers[row] for row in rows])
        except LineError as error:  # its row counts in `rows`
            raise LineError(rows[error.row], str(error)) from error

    spans = [find_spans(request.text, request.protect) for request in requests]
    constrained = [require_spans(request, found) for request, found in zip(requests, spans, strict=True)]
    searchable = [
        row
        for row, request in enumerate(constrained)
        if not spans[row] or (_has_translatable_text(request.text, spans[row]) and can_satisfy(request))
    ]
    found = translate_rows([constrained[row] for row in searchable], searchable)
    done = {
        row: report_protected_spans(translation, requests[row], spans[row])
        for row, translation in zip(searchable, found, strict=True)
        if all(spans_preserved(spans[row], translation.text))
    }
    remaining = [row for row in range(len(requests)) if row not in done]
    segments = {row: _split_at_spans(requests[row], spans[row], can_satisfy) for row in remaining}
    parts = [(row, s.request) for row in remaining for s in segments[row] if s.request is not None]
    unprotected = [replace(request, protect=()) for _, request in parts]
    results = iter(translate_rows(unprotected, [row for row, _ in parts]))
    for row in remaining:
        pairs = [(segment, None if segment.request is None else next(results)) for segment in segments[row]]
        joined = _join_segments(requests[row], pairs, spans[row])
        done[row] = joined if with_alignment else replace(joined, alignment=None)
    return [done[row] for row in range(len(requests))]


def _has_translatable_text(line: str, spans: Sequence[Span]) -> bool:
    bounds = zip([0, *(span.end for span in spans)], [*(span.first for span in spans), len(line)], strict=True)
    return any(TRANSLATABLE_TEXT.search(line, first, end) for first, end in bounds)


def require_spans(request: Request, spans: Sequence[Span]) -> Request:
    """The request with its spans as required phrases, as often as they occur, unless it requires them itself."""
    missing = Counter[tuple[str, ...]]((span.text,) for span in spans) - Counter(request.include)
    return replace(request, include=(*request.include, *missing.elements()))


def report_protected_spans(translation: Translation, request: Request, spans: Sequence[Span]) -> Translation:
    """The translation with its protected spans, without the constraint checks that `require_spans` added (they come
    last), and without alternatives that lack a span.
    """
    if not spans:
        return translation
    inclusions = count()
    return replace(
        translation,
        alternatives=tuple(one for one in translation.alternatives if all(spans_preserved(spans, one.text))),
        constraint_checks=tuple(
            check
            for check in translation.constraint_checks
            if check.kind != "include" or next(inclusions) < len(request.include)
        ),
        protected=tuple(ProtectedSpan(span.kind, span.text, "search") for span in spans),
    )


def _split_at_spans(
    request: Request, spans: Sequence[Span], can_satisfy: Callable[[Request], bool]
) -> list[LineSegment]:
    """Split the line into spans, the text between them, and the punctuation around that text.

    The prefix goes to the first segment, if it is translated; required phrases to the longest one, if it can meet them.
    """
    line, segments, reached = request.text, list[LineSegment](), 0
    for span in [*spans, Span("markup", "", len(line), len(line))]:
        text = TRANSLATABLE_TEXT.search(line, reached, span.first)
        if text is not None:
            segments.append(LineSegment(line[reached : text.start()], reached))
            inner = replace(request, text=text[0], prefix="", prefix_bias=None, include=(), ordered=0)
            segments.append(LineSegment(text[0], text.start(), inner))
            reached = text.end()
        segments.append(LineSegment(line[reached : span.first], reached))
        segments.append(LineSegment(span.text, span.first))
        reached = span.end
    segments = [segment for segment in segments if segment.text]

    def constrain(number: int, constrained: Request) -> None:
        if can_satisfy(constrained):
            segments[number] = segments[number]._replace(request=constrained)

    first = segments[0].request
    if request.prefix and first is not None:
        constrain(0, replace(first, prefix=request.prefix, prefix_bias=request.prefix_bias))
    translated = [number for number, segment in enumerate(segments) if segment.request is not None]
    if request.include and translated:
        longest = max(translated, key=lambda number: len(segments[number].text))
        inner = segments[longest].request or request
        constrain(longest, replace(inner, include=request.include, ordered=request.ordered))
    return segments


def _join_segments(
    request: Request, pairs: Sequence[tuple[LineSegment, Translation | None]], spans: Sequence[Span]
) -> Translation:
    """Join segments; with spaces around copied ones if a span would otherwise run into a translation."""
    texts = [segment.text if translation is None else translation.text for segment, translation in pairs]
    gaps = [""] * len(texts)
    if not all(spans_preserved(spans, "".join(texts))):
        copied = [translation is None for _, translation in pairs]
        gaps = ["", *(" " if one != other else "" for one, other in pairwise(copied))]
    text = "".join(gap + one for gap, one in zip(gaps, texts, strict=True))
    translations = [translation for _, translation in pairs if translation is not None]
    return Translation(
        request.text,
        (_join_alternatives(text, pairs),),
        any(translation.truncated for translation in translations),
        _join_constraint_checks(request, text, translations),
        tuple(ProtectedSpan(span.kind, span.text, "split") for span in spans),
        alignment=_join_alignments(pairs, texts, gaps),
    )


def _join_alternatives(text: str, pairs: Sequence[tuple[LineSegment, Translation | None]]) -> Alternative:
    """A copied segment is one token with log-probability 0."""
    parts = [
        Alternative("", 0.0, (segment.text,), (0.0,), finished=True) if found is None else found.alternatives[0]
        for segment, found in pairs
    ]
    return Alternative(
        text,
        sum(part.score for part in parts),
        tuple(token for part in parts for token in part.tokens),
        tuple(score for part in parts for score in part.token_scores),
        all(part.finished for part in parts),
    )


def _join_constraint_checks(
    request: Request, text: str, translations: Sequence[Translation]
) -> tuple[ConstraintCheck, ...]:
    """The checks of the segments; a constraint that was given to none of them is not met."""
    checks = [check for translation in translations for check in translation.constraint_checks]
    broken = {check.phrases for check in checks if check.kind == "exclude" and not check.met}
    excluded = [ConstraintCheck("exclude", (phrase,), (phrase,) not in broken) for phrase in request.exclude]
    included = [check for check in checks if check.kind == "include"]
    included = included or [ConstraintCheck("include", phrases, met=False) for phrases in request.include]
    starts = text.startswith(request.prefix.rstrip())
    prefix = [ConstraintCheck("prefix", (request.prefix,), starts)] if request.prefix else []
    return (*prefix, *included, *excluded)


def _join_alignments(
    pairs: Sequence[tuple[LineSegment, Translation | None]], texts: Sequence[str], gaps: Sequence[str]
) -> tuple[WordLink, ...]:
    """The alignments of the segments; a copied word is aligned with itself."""
    links, reached = list[WordLink](), 0
    for (segment, found), text, gap in zip(pairs, texts, gaps, strict=True):
        reached += len(gap)
        inner = [WordLink(at, at) for at in word_starts(segment.text)] if found is None else found.alignment or ()
        links += [WordLink(segment.first + link.source, reached + link.target) for link in inner]
        reached += len(text)
    return tuple(links)
