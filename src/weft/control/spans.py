"""Spans of a line that are no language and must not be translated: addresses, numbers, placeholders, markup."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from difflib import get_close_matches
from typing import Literal, NamedTuple, TypeAlias, get_args

from weft.core.errors import UserError

Kind: TypeAlias = Literal["markup", "urls", "emails", "placeholders", "numbers"]
KINDS: tuple[Kind, ...] = get_args(Kind)  # of two that begin at one place, the kind that comes first here counts

PATTERNS: Mapping[Kind, re.Pattern[str]] = {
    "markup": re.compile(
        r"</?[A-Za-z][^<>\ud800-\udfff]*>"  # a tag: <b>, </a>, <br/>
        r"|<!--[^<>\ud800-\udfff]*-->"
        r"|&(?:[A-Za-z][A-Za-z0-9]*|\#[0-9]+|\#x[0-9A-Fa-f]+);"  # &amp; &#39;
    ),
    "urls": re.compile(r"""(?<!\w)(?:https?://|ftp://|www\.)[^\s<>"\ud800-\udfff]*[\w/]"""),
    "emails": re.compile(r"(?<![\w.+-])[\w.+-]+@[\w-]+(?:\.[\w-]+)+"),
    "placeholders": re.compile(
        r"\{\{[^{}]*\}\}"  # {{ name }}
        r"|\$?\{[^{}\s]*\}"  # {name}, {0}, {}, ${name}
        r"|%\([A-Za-z_]\w*\)[sdif]"  # %(name)s
        r"|(?<![\w%])%(?:[0-9]+\$)?[-+0#]*[0-9]*(?:\.[0-9]+)?[sdifgxXc@](?!\w)"  # %s, %1$d, %.2f
        r"|(?<![\w$])\$(?:[0-9]+(?![.,]?[0-9])|[A-Za-z_]\w*)"  # $1, $name
    ),
    "numbers": re.compile(r"(?<!\w)(?<!\d[.,:'’])\d+(?:[.,:'’\u00a0\u202f]\d+)*(?!\w|[.,:'’\u00a0\u202f]\d)"),
}


class Span(NamedTuple):
    """A part of a line, from `first` to before `end`."""

    kind: Kind
    text: str
    first: int
    end: int


def kinds_of(names: Iterable[str]) -> tuple[Kind, ...]:
    """The kinds with these names, each once, in the order in which they count."""
    named = set(names)
    for name in sorted(named.difference(KINDS)):
        nearest = get_close_matches(name, KINDS, n=1)
        meant = f" Is it {nearest[0]}?" if nearest else ""
        raise UserError(f'"{name}" is no kind of span: there are {", ".join(sorted(KINDS))}.{meant}')
    return tuple(kind for kind in KINDS if kind in named)


def find_spans(line: str, kinds: Sequence[Kind]) -> list[Span]:
    """The spans of these kinds in the order of the line; where they overlap, the one that begins first."""
    found = [Span(kind, match[0], *match.span()) for kind in kinds for match in PATTERNS[kind].finditer(line)]
    spans: list[Span] = []
    for span in sorted(found, key=lambda span: span.first):
        if not spans or span.first >= spans[-1].end:
            spans.append(span)
    return spans


def survived(spans: Sequence[Span], output: str) -> list[bool]:
    """Whether each span stands in the output, letter for letter and as a span of its kind, in a place of its own."""
    taken: list[tuple[int, int]] = []
    found: dict[Span, bool] = {}
    for span in sorted(spans, key=lambda span: -len(span.text)):
        size = len(span.text)
        places = (place for place in _places(span, output) if _is_free(place, place + size, taken))
        place = next(places, None)
        found[span] = place is not None
        if place is not None:
            taken.append((place, place + size))
    return [found[span] for span in spans]


def _is_free(first: int, end: int, taken: Sequence[tuple[int, int]]) -> bool:
    """Does it overlap with nothing that is taken?"""
    return all(end <= other or last <= first for other, last in taken)


def _places(span: Span, output: str) -> Iterator[int]:
    """Where the span stands in the output, no longer and no shorter than it is."""
    place = output.find(span.text)
    while place >= 0:
        match = PATTERNS[span.kind].match(output, place)
        if match is not None and match[0] == span.text:
            yield place
        place = output.find(span.text, place + 1)
