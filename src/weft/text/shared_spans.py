"""Training pairs with tags: spans that both sides share become the same tag on both, as they do in translation
(text/marked_text.py).

A span of one side alone, or one that occurs more often on one side, stays text: what it is translated into is to be
learned. Numbers are often translated ("3rd", "1.5"), and only some users have them carried over, so they become tags
in a fixed share of the pairs.
"""

from collections import Counter, defaultdict, deque
from collections.abc import Sequence
from hashlib import blake2b
from itertools import chain

from weft.text.marked_text import MarkedText, TaggedText, partner_indices, replace_spans, replace_tag_characters
from weft.text.span_patterns import SPAN_KINDS, Span, SpanKind, find_spans, pair_elements

NUMBER_SHARE = 0.25  # of the pairs
KINDS_WITHOUT_NUMBERS: tuple[SpanKind, ...] = tuple(kind for kind in SPAN_KINDS if kind != "numbers")


def replace_shared_spans(pair: tuple[str, str]) -> tuple[str, str]:
    """Return a pair with tags for the spans that its sides share, numbered by the source, if there are enough tags.

    Characters that are tags themselves become U+FFFD.
    """
    kinds = SPAN_KINDS if _has_number_tags(pair) else KINDS_WITHOUT_NUMBERS
    found = find_spans(pair[0], kinds)
    source, target = match_spans(found, find_spans(pair[1], kinds) if found else ())
    tagged = replace_spans(MarkedText(pair[0], tuple(source)))
    if not source or tagged is None:
        source_text, target_text = map(replace_tag_characters, pair)
        return source_text, target_text
    return tagged.text, _insert_same_tags(pair[1], source, target, tagged)


def match_spans(source: Sequence[Span], target: Sequence[Span]) -> tuple[list[Span], list[Span]]:
    """Return the spans that occur equally often on both sides: those of the source in order, and the target's for each.

    Equal spans match in order. Tags of an element are paired only if those that match them are an element, too.
    """
    counts = [Counter(span.text for span in spans) for spans in (source, target)]
    source, target = (
        pair_elements([span for span in spans if counts[0][span.text] == counts[1][span.text]])
        for spans in (source, target)
    )
    places = defaultdict[str, deque[int]](deque)
    for place, span in enumerate(target):
        places[span.text].append(place)
    matches = [places[span.text].popleft() for span in source]
    partners, target_partners = partner_indices(source), partner_indices(target)
    is_paired = [
        number in partners and target_partners.get(match) == matches[partners[number]]
        for number, match in enumerate(matches)
    ]
    roles = [span if paired else span._replace(role="single") for span, paired in zip(source, is_paired, strict=True)]
    return roles, [target[match] for match in matches]


def _has_number_tags(pair: tuple[str, str]) -> bool:
    digest = blake2b("\n".join(pair).encode("utf-8", "surrogatepass"), digest_size=4).digest()
    return int.from_bytes(digest, "little") < NUMBER_SHARE * 2**32


def _insert_same_tags(line: str, source: Sequence[Span], target: Sequence[Span], tagged: TaggedText) -> str:
    """Return the target with the tags that the source has for the matching spans."""
    tag_of = {span.first: tag for tag, span in tagged.spans.items()}
    placed = sorted((span.first, span.end, tag_of[own.first]) for own, span in zip(source, target, strict=True))
    starts = [0, *(end for _, end, _ in placed)]
    ends = [*(first for first, _, _ in placed), len(line)]
    texts = (replace_tag_characters(line[first:end]) for first, end in zip(starts, ends, strict=True))
    return "".join(chain.from_iterable(zip(texts, [*(tag for _, _, tag in placed), ""], strict=True)))
