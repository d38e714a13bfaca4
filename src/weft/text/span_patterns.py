"""Spans of a line that are copied instead of translated: markup, URLs, e-mail addresses, placeholders, numbers."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Literal, NamedTuple, TypeAlias, get_args

from weft.core.errors import UserError
from weft.core.formatting import did_you_mean, quote

SpanKind: TypeAlias = Literal["markup", "urls", "emails", "placeholders", "numbers"]
SPAN_KINDS: tuple[SpanKind, ...] = get_args(SpanKind)  # of two spans that start together, the first kind wins

SPAN_PATTERNS: Mapping[SpanKind, re.Pattern[str]] = {
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


class SpanMatch(NamedTuple):
    """A part of a line, from `first` to before `end`."""

    kind: SpanKind
    text: str
    first: int
    end: int


def parse_span_kinds(names: Iterable[str]) -> tuple[SpanKind, ...]:
    """Return the kinds with these names in order of precedence; raise UserError for an unknown name."""
    requested = set(names)
    for name in sorted(requested.difference(SPAN_KINDS)):
        kinds = ", ".join(sorted(SPAN_KINDS))
        raise UserError(f"{quote(name)} is not a kind of span{did_you_mean(name, SPAN_KINDS)} (the kinds are {kinds})")
    return tuple(kind for kind in SPAN_KINDS if kind in requested)


def find_spans(line: str, kinds: Sequence[SpanKind]) -> list[SpanMatch]:
    """Return the spans of these kinds in order; of overlapping ones, the one that starts first."""
    found = [SpanMatch(kind, match[0], *match.span()) for kind in kinds for match in SPAN_PATTERNS[kind].finditer(line)]
    spans: list[SpanMatch] = []
    for span in sorted(found, key=lambda span: span.first):
        if not spans or span.first >= spans[-1].end:
            spans.append(span)
    return spans


def spans_preserved(spans: Sequence[SpanMatch], output: str) -> list[bool]:
    """Whether each span occurs verbatim in the output, as a span of its kind and without overlapping another one."""
    taken: list[tuple[int, int]] = []
    is_preserved: dict[SpanMatch, bool] = {}
    for span in sorted(spans, key=lambda span: -len(span.text)):
        free = (
            (first, first + len(span.text))
            for first in _find_occurrences(span, output)
            if all(first + len(span.text) <= start or end <= first for start, end in taken)
        )
        match = next(free, None)
        is_preserved[span] = match is not None
        if match is not None:
            taken.append(match)
    return [is_preserved[span] for span in spans]


def _find_occurrences(span: SpanMatch, output: str) -> Iterator[int]:
    """Yield the offsets where the pattern of the span's kind matches exactly its text."""
    offset = output.find(span.text)
    while offset >= 0:
        match = SPAN_PATTERNS[span.kind].match(output, offset)
        if match is not None and match[0] == span.text:
            yield offset
        offset = output.find(span.text, offset + 1)
