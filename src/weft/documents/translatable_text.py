"""What of a string is language: its spans, the white space around it, and whether there is anything to translate."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

from weft.text.marked_text import MarkedText, partner_indices
from weft.text.span_patterns import Span, SpanKind, find_spans, pair_elements

MESSAGE_SPANS: tuple[SpanKind, ...] = ("markup", "urls", "emails", "placeholders")
REQUIRED_SPANS: tuple[SpanKind, ...] = ("markup", "placeholders")  # a program depends on them
PRINTF = re.compile(r"%(?:[0-9]{1,3}\$)?+[-+ #0]{0,5}+[0-9]{0,9}+(?:\.[0-9]{1,9}+)?+[hlqjztL]{0,2}+[a-zA-Z@](?!\w)")
PERCENT = re.compile(rf"%%|{PRINTF.pattern}|%")
IDENTIFIER = re.compile(
    r"(?=\S*+$)(?:\S*\w_\w\S*|_\w\S*"  # label_save
    r"|[a-z][a-z0-9]*+(?:[A-Z]\w*+)+"  # maxLength
    r"|\w+(?:\.\w+)+"  # app.title, config.json
    r"|[#/.@]\S+)"  # #ff0000, /usr/bin, .hidden, @string/name
)


def mark_spans(text: str, extra: Iterable[Span] = ()) -> MarkedText:
    """Return a text with its spans. `extra` are those of its format; of overlapping ones, the one that starts first."""
    spans: list[Span] = []
    for span in sorted([*extra, *find_spans(text, MESSAGE_SPANS)], key=lambda span: span.first):
        if not spans or span.first >= spans[-1].end:
            spans.append(span)
    return MarkedText(text, tuple(pair_elements(spans)))


def core_range(text: str) -> tuple[int, int]:
    """Return the range of a text without the white space around it."""
    return len(text) - len(text.lstrip()), len(text.rstrip())


def has_letters(parts: Iterable[object]) -> bool:
    """Whether there is anything to translate in the texts of these parts, outside of spans and tags."""
    return any(isinstance(part, str) and any(map(str.isalpha, part)) for part in parts)


class OuterMarkup(NamedTuple):
    """A text without the white space and the pairs of tags around all of it, which are not part of the sentence."""

    before: str
    text: MarkedText
    after: str


def strip_outer_markup(marked: MarkedText) -> OuterMarkup:
    """Move white space and the pairs of tags that enclose the whole text out of it."""
    first, end = 0, len(marked.text)
    partners = partner_indices(marked.spans)
    left, right = 0, len(marked.spans) - 1
    while True:
        while first < end and marked.text[first].isspace():
            first += 1
        while first < end and marked.text[end - 1].isspace():
            end -= 1
        if left >= right or partners.get(left) != right:
            break
        if (marked.spans[left].first, marked.spans[right].end) != (first, end):
            break
        first, end = marked.spans[left].end, marked.spans[right].first
        left, right = left + 1, right - 1
    return OuterMarkup(marked.text[:first], marked.slice(first, end), marked.text[end:])


def normalize_spaces(text: MarkedText) -> MarkedText:
    """Make line ends and other white space outside of spans single spaces, and remove it at both ends."""
    joined = MarkedText.join(re.sub(r"\s+", " ", part) if isinstance(part, str) else part for part in text.parts())
    return joined.slice(*core_range(joined.text))


def is_translatable(marked: MarkedText) -> bool:
    """Whether there are words: letters outside of the spans, and not only the name of something in a program."""
    return has_letters(marked.parts()) and IDENTIFIER.fullmatch(marked.text) is None


def reject_other_spans(
    source: MarkedText, translation: MarkedText, kinds: Sequence[SpanKind] = REQUIRED_SPANS
) -> str | None:
    """Return why the spans of these kinds in a translation are not those of the source, or None."""
    required = Counter(span.text for span in source.spans if span.kind in kinds)
    between = [span.text for part in translation.parts() if isinstance(part, str) for span in find_spans(part, kinds)]
    found = Counter([*(span.text for span in translation.spans), *between])
    if missing := required - found:
        return f"{next(iter(missing))} is missing"
    known = {span.text for span in source.spans}
    carried = [span.text for span in translation.spans if span.kind in kinds]
    new = [text for text in [*carried, *between] if text not in known]
    return f"{new[0]} is not in the source" if new else None


def reject_translation(source: MarkedText, translation: MarkedText) -> str | None:
    """Return why a translation cannot replace the text, or None."""
    if not translation.text.strip():
        return "the translation is empty"
    return reject_other_spans(source, translation)


def percent_escape(source: MarkedText) -> Callable[[str], str]:
    """Return a function that doubles % in text outside of placeholders if the source is a format string of printf."""
    if not any(PRINTF.fullmatch(span.text) for span in source.spans):
        return lambda part: part
    return lambda part: PERCENT.sub(lambda match: match[0] if len(match[0]) > 1 else "%%", part)
