"""Inline tags of markup as spans: pairs, and whether a translation has the tags of its source."""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Callable, Sequence
from typing import NamedTuple, get_args

from weft.text.marked_text import MarkedText, partner_indices
from weft.text.span_patterns import Span, SpanRole, nested_roles

ROLES: tuple[SpanRole, ...] = get_args(SpanRole)


class InlineTag(NamedTuple):
    """A tag in a text. opens and closes: a key that start and end of an element share; "" for a single tag."""

    text: str
    opens: str = ""
    closes: str = ""


def mark_tags(parts: Sequence[str | InlineTag]) -> MarkedText:
    """Join text and tags. Tags with the same key become pairs as far as they nest; the others are single spans."""
    roles = iter(nested_roles((part.opens, part.closes) for part in parts if not isinstance(part, str)))
    return MarkedText.join(
        part if isinstance(part, str) else Span("markup", part.text, 0, 0, next(roles)) for part in parts
    )


def match_tags(source: MarkedText, translation: MarkedText) -> list[str | int]:
    """Return a translation as text and indices of the source's spans.

    Raise ValueError with the reason if it is empty, or has not each span once, with pairs nested.

    Spans that only the translation has were found in its text by patterns; they are text of the document.
    """
    if not translation.text.strip():
        raise ValueError("the translation is empty")
    texts = {span.text for span in source.spans}
    partners, waiting = partner_indices(source.spans), defaultdict[tuple[str, str], deque[int]](deque)
    for index, span in enumerate(source.spans):
        waiting[span.role, span.text].append(index)
    parts, opened = list[str | int](), list[int]()
    for part in translation.parts():
        if isinstance(part, str) or part.text not in texts:
            parts.append(part if isinstance(part, str) else part.text)
            continue
        # A pair around several sentences is translated as single tags, so another role is possible.
        indices = next((found for role in (part.role, *ROLES) if (found := waiting[role, part.text])), None)
        if indices is None:
            raise ValueError("the translation has an inline tag more often than the source")
        index = indices.popleft()
        role = source.spans[index].role
        if role == "open":
            opened.append(index)
        elif role == "close" and not (opened and source.spans[partners[opened.pop()]].text == source.spans[index].text):
            raise ValueError("the inline tags of the translation are not nested as in the source")
        parts.append(index)
    if opened or any(waiting.values()):
        raise ValueError("the translation has not all inline tags of the source")
    return parts


def trim_edges(parts: Sequence[str | InlineTag], is_movable: Callable[[int], bool]) -> tuple[int, int]:
    """Return the range of the parts without white space, single tags and pairs of tags around the rest.

    is_movable: whether the translation may move a tag, given its index; such tags are kept.
    """
    partners = _partners(parts)
    first, end = 0, len(parts)

    def is_edge(index: int) -> bool:
        part = parts[index]
        if isinstance(part, str):
            return not part.strip()
        return index not in partners and not is_movable(index)

    while first < end:
        partner_of_first, partner_of_last = partners.get(first), partners.get(end - 1)
        if is_edge(first):
            first += 1
        elif is_edge(end - 1):
            end -= 1
        elif partner_of_first == end - 1 and first < end - 1:
            first, end = first + 1, end - 1
        elif partner_of_first is not None and all(map(is_edge, range(first + 1, partner_of_first))):
            first = partner_of_first + 1
        elif partner_of_last is not None and all(map(is_edge, range(partner_of_last + 1, end - 1))):
            end = partner_of_last
        else:
            break
    return first, end


def _partners(parts: Sequence[str | InlineTag]) -> dict[int, int]:
    """Return the index of the other tag of its pair for each tag that has one."""
    tags = [index for index, part in enumerate(parts) if not isinstance(part, str)]
    spans = mark_tags([part for part in parts if not isinstance(part, str)]).spans
    return {tags[one]: tags[other] for one, other in partner_indices(spans).items()}
