"""Lines with spans that must come out as they went in.

The search is made to say the spans of a line (control/plan.py). Where that cannot be, or the text lacks one all the
same (the tokenizer cannot spell it letter for letter, the search or the model cannot be made to say anything, a span
ran into what follows it), the line is cut at its spans: what is between them is translated by itself, and the spans are
put back where they stood. So every span survives, whatever the model.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import count, pairwise
from typing import NamedTuple, TypeAlias

from weft.control.checking import Checked
from weft.control.request import Request
from weft.control.spans import Span, find_spans, survived
from weft.engine.translation import Alternative, Protected, Translation
from weft.text.alignment import Link, starts_of
from weft.text.reader import LineError

TranslateSome: TypeAlias = Callable[[Sequence[Request], Sequence[int]], list[Translation]]  # and the lines' numbers
CORE = re.compile(r"\w(?:.*\w)?")  # what has letters or digits; the signs and spaces around it stay as they are


class Part(NamedTuple):
    """A part of a line: copied, or (if there is a request) translated."""

    text: str
    first: int  # its place in the line
    request: Request | None = None


@dataclass(frozen=True)
class Protector:
    """translate: some requests, with the numbers of their lines. can_say: can the search be made to say all that a
    request asks for? aligned: is to be told which words belong together?
    """

    translate: TranslateSome
    can_say: Callable[[Request], bool]
    aligned: bool = False

    def __call__(self, requests: Sequence[Request], numbers: Sequence[int]) -> list[Translation]:
        """A translation for each request, in which the spans of the kinds that it protects stand as in its text."""
        spans = [find_spans(request.text, request.protect) for request in requests]
        asked = [required(*pair) for pair in zip(requests, spans, strict=True)]
        sure = [
            place
            for place, request in enumerate(asked)
            if not spans[place] or (has_words(request.text, spans[place]) and self.can_say(request))
        ]
        found = self._translated(asked, numbers, sure)
        done = {
            place: told(translation, requests[place], spans[place])
            for place, translation in zip(sure, found, strict=True)
            if all(survived(spans[place], translation.text))
        }
        left = [place for place in range(len(requests)) if place not in done]
        parts = {place: cut(requests[place], spans[place], self.can_say) for place in left}
        done |= self._put_together(requests, numbers, parts, spans)
        return [done[place] for place in range(len(requests))]

    def _translated(
        self, requests: Sequence[Request], numbers: Sequence[int], places: Sequence[int]
    ) -> list[Translation]:
        """Those at some places; what is wrong with one is told of its place."""
        try:
            return self.translate([requests[place] for place in places], [numbers[place] for place in places])
        except LineError as error:
            raise LineError(places[error.row], str(error)) from error

    def _put_together(
        self,
        requests: Sequence[Request],
        numbers: Sequence[int],
        parts: dict[int, list[Part]],
        spans: Sequence[Sequence[Span]],
    ) -> dict[int, Translation]:
        """The lines at these places, cut into these parts."""
        cores = [(place, part.request) for place in parts for part in parts[place] if part.request is not None]
        by_core = [replace(request, protect=()) for _, request in cores]
        places = [place for place, _ in cores]
        try:
            found = iter(self.translate(by_core, [numbers[place] for place in places]))
        except LineError as error:
            raise LineError(places[error.row], str(error)) from error
        results = {}
        for place in parts:
            pairs = [(part, None if part.request is None else next(found)) for part in parts[place]]
            together = joined(requests[place], pairs, spans[place])
            results[place] = together if self.aligned else replace(together, links=None)
        return results


def has_words(line: str, spans: Sequence[Span]) -> bool:
    """Is there anything to translate?"""
    bounds = zip([0, *(span.end for span in spans)], [*(span.first for span in spans), len(line)], strict=True)
    return any(CORE.search(line, first, end) for first, end in bounds)


def required(request: Request, spans: Sequence[Span]) -> Request:
    """The request, asking also for its spans, each as often as it comes; what it asks for itself counts as one."""
    asked: Counter[tuple[str, ...]] = Counter((span.text,) for span in spans)
    more = asked - Counter(request.include)
    return replace(request, include=(*request.include, *more.elements()))


def told(translation: Translation, request: Request, spans: Sequence[Span]) -> Translation:
    """The translation, telling of its spans apart from what the request itself asks for, which comes first.

    Alternatives in which a span is missing are left out.
    """
    if not spans:
        return translation
    numbers = count()
    return replace(
        translation,
        alternatives=tuple(one for one in translation.alternatives if all(survived(spans, one.text))),
        checked=tuple(
            one for one in translation.checked if one.asked != "include" or next(numbers) < len(request.include)
        ),
        protected=tuple(Protected(span.kind, span.text, "search") for span in spans),
    )


def cut(request: Request, spans: Sequence[Span], can_say: Callable[[Request], bool]) -> list[Part]:
    """The line in parts: spans, the words between them, and what is around the words."""
    line, parts, reached = request.text, list[Part](), 0
    for span in [*spans, Span("markup", "", len(line), len(line))]:
        between = CORE.search(line, reached, span.first)
        if between is not None:
            parts.append(Part(line[reached : between.start()], reached))
            part = replace(request, text=between[0], prefix="", bias=None, include=(), ordered=0)
            parts.append(Part(between[0], between.start(), part))
            reached = between.end()
        parts.append(Part(line[reached : span.first], reached))
        parts.append(Part(span.text, span.first))
        reached = span.end
    return with_wishes([part for part in parts if part.text], request, can_say)


def with_wishes(parts: list[Part], request: Request, can_say: Callable[[Request], bool]) -> list[Part]:
    """The prefix goes to the first part, if that is translated; phrases to the longest one, if it can say them."""
    if request.prefix and parts[0].request is not None:
        parts[0] = _asking(parts[0], replace(parts[0].request, prefix=request.prefix, bias=request.bias), can_say)
    words = [place for place, part in enumerate(parts) if part.request is not None]
    if request.include and words:
        longest = max(words, key=lambda place: len(parts[place].text))
        asked = replace(parts[longest].request or request, include=request.include, ordered=request.ordered)
        parts[longest] = _asking(parts[longest], asked, can_say)
    return parts


def _asking(part: Part, request: Request, can_say: Callable[[Request], bool]) -> Part:
    return part._replace(request=request) if can_say(request) else part


def joined(request: Request, pairs: Sequence[tuple[Part, Translation | None]], spans: Sequence[Span]) -> Translation:
    """The line put together from its parts; with spaces around what was copied, where it would run into what was said.

    So what is around a span is what was around it in the source, or a space.
    """
    texts = [part.text if translation is None else translation.text for part, translation in pairs]
    between = [""] * len(texts)
    if not all(survived(spans, "".join(texts))):
        said = [translation is not None for _, translation in pairs]
        between = ["", *(" " if one != other else "" for one, other in pairwise(said))]
    text = "".join(gap + one for gap, one in zip(between, texts, strict=True))
    found = [translation for _, translation in pairs if translation is not None]
    return Translation(
        request.text,
        (_alternative(text, pairs),),
        any(one.cut for one in found),
        _checked(request, text, found),
        tuple(Protected(span.kind, span.text, "cutting") for span in spans),
        links=_links(pairs, texts, between),
    )


def _alternative(text: str, pairs: Sequence[tuple[Part, Translation | None]]) -> Alternative:
    """What was copied is a piece that costs nothing."""
    parts = [
        Alternative("", 0.0, (part.text,), (0.0,), finished=True) if said is None else said.alternatives[0]
        for part, said in pairs
    ]
    return Alternative(
        text,
        sum(part.score for part in parts),
        tuple(piece for part in parts for piece in part.pieces),
        tuple(score for part in parts for score in part.piece_scores),
        all(part.finished for part in parts),
    )


def _checked(request: Request, text: str, found: Sequence[Translation]) -> tuple[Checked, ...]:
    """What the parts tell; what could be given to none of them is not met."""
    told = [one for translation in found for one in translation.checked]
    broken = {one.phrases for one in told if one.asked == "exclude" and not one.met}
    excluded = [Checked("exclude", (phrase,), (phrase,) not in broken) for phrase in request.exclude]
    included = [one for one in told if one.asked == "include"]
    included = included or [Checked("include", phrases, met=False) for phrases in request.include]
    prefix = [Checked("prefix", (request.prefix,), text.startswith(request.prefix.rstrip()))] if request.prefix else []
    return (*prefix, *included, *excluded)


def _links(
    pairs: Sequence[tuple[Part, Translation | None]], texts: Sequence[str], between: Sequence[str]
) -> tuple[Link, ...]:
    """What belongs together within the parts; a word that was copied belongs to itself."""
    links, reached = list[Link](), 0
    for (part, said), text, gap in zip(pairs, texts, between, strict=True):
        reached += len(gap)
        inner = [Link(start, start) for start in starts_of(part.text)] if said is None else said.links or ()
        links += [Link(part.first + link.source, reached + link.target) for link in inner]
        reached += len(text)
    return tuple(links)
