"""Spans of a line that are carried into its translation unchanged: markup, URLs, e-mail addresses, placeholders,
numbers, emoji. Every pattern takes time linear in the length of the line.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Literal, NamedTuple, TypeAlias, get_args

from weft.core.errors import UserError
from weft.core.formatting import did_you_mean, quote

SpanKind: TypeAlias = Literal["markup", "urls", "emails", "placeholders", "numbers", "emoji"]
SPAN_KINDS: tuple[SpanKind, ...] = get_args(SpanKind)  # of two spans that start together, the first kind wins
SpanRole: TypeAlias = Literal["single", "open", "close"]  # open and close: tags of an element around text

# Possessive quantifiers (*+) never backtrack, and every repetition has a limit, so a match that fails is cheap.
SPAN_PATTERNS: Mapping[SpanKind, re.Pattern[str]] = {
    "markup": re.compile(
        r"</?[A-Za-z][^<>\ud800-\udfff]{0,2000}+>"  # a tag: <b>, </a>, <br/>
        r"|<!--[^<>\ud800-\udfff]{0,2000}+-->"
        r"|&(?:[A-Za-z][A-Za-z0-9]{0,31}+|\#[0-9]{1,7}+|\#x[0-9A-Fa-f]{1,6}+);"  # &amp; &#39;
    ),
    "urls": re.compile(r"""(?<!\w)(?:https?://|ftp://|www\.)[^\s<>"\ud800-\udfff]{0,2000}[\w/]"""),
    "emails": re.compile(r"(?<![\w.+-])[\w.+-]{1,64}+@[\w-]{1,63}+(?:\.[\w-]{1,63}+){1,8}+"),
    "placeholders": re.compile(
        r"\{\{[^{}]{0,200}+\}\}|\{%[^{}]{0,200}?%\}"  # {{ name }}, {% tag %}
        r"|[$#%]?\{[^{}\s,]{0,200}+\}"  # {name}, {0}, {}, ${name}, #{name}, %{name}
        r"|%\([A-Za-z_][\w.]{0,100}+\)[-+0# ]{0,5}+[0-9]{0,9}+(?:\.[0-9]{1,9}+)?+[A-Za-z]"  # %(name)s
        r"|(?<!%)%(?:[0-9]{1,3}+\$)?+[-+0#]{0,5}+[0-9]{0,9}+(?:\.[0-9]{1,9}+)?+(?:hh?|ll?|[jztL])?+[sdiufgeExXcopr@](?!\w)"
        r"|%%"
        r"|(?<![\w$])\$(?:[0-9]{1,9}+(?![.,]?[0-9])|[A-Za-z_]\w{0,100}+)"  # $1, $name
        r"|\[X[0-9]{1,9}+X\]"  # how Weblate masks placeholders
    ),
    "numbers": re.compile(
        r"(?<!\w)(?<!\d[.,:'’])\d{1,100}+(?:[.,:'’\u00a0\u202f]\d{1,100}+){0,20}+(?!\w|[.,:'’\u00a0\u202f]\d)"
    ),
    "emoji": re.compile(
        r"[\U0001F1E6-\U0001F1FF]{2}"  # a flag
        r"|[\u2600-\u27BF\u2B50\u2B55\U0001F300-\U0001FAFF]"
        r"[\uFE0F\U0001F3FB-\U0001F3FF]?+(?:\u200D[\u2600-\u27BF\U0001F300-\U0001FAFF][\uFE0F\U0001F3FB-\U0001F3FF]?+){0,8}+"
    ),
}
ICU_ARGUMENT = re.compile(r"\{\s{0,5}+\w{1,100}+\s{0,5}+,\s{0,5}+\w{1,30}+\s{0,5}+[,}]")  # {count, plural, ...}
BRACE = re.compile("[{}]")
ELEMENT_NAME = re.compile(r"<(/?)([A-Za-z][^\s/>]*)")


class Span(NamedTuple):
    """A part of a text, from `first` to before `end`.

    role: open and close are the tags of an element; in a list of spans they are paired and nested.
    """

    kind: SpanKind
    text: str
    first: int
    end: int
    role: SpanRole = "single"


def parse_span_kinds(names: Iterable[str]) -> tuple[SpanKind, ...]:
    """Return the kinds with these names in order of precedence; raise UserError for an unknown name."""
    requested = set(names)
    for name in sorted(requested.difference(SPAN_KINDS)):
        kinds = ", ".join(sorted(SPAN_KINDS))
        raise UserError(f"{quote(name)} is not a kind of span{did_you_mean(name, SPAN_KINDS)} (the kinds are {kinds})")
    return tuple(kind for kind in SPAN_KINDS if kind in requested)


def find_spans(line: str, kinds: Sequence[SpanKind]) -> list[Span]:
    """Return the spans of these kinds in order; of overlapping ones, the one that starts first."""
    found = [Span(kind, match[0], *match.span()) for kind in kinds for match in SPAN_PATTERNS[kind].finditer(line)]
    if "placeholders" in kinds and "{" in line:
        found += _icu_arguments(line)
    spans: list[Span] = []
    for span in sorted(found, key=lambda span: span.first):
        if not spans or span.first >= spans[-1].end:
            spans.append(span)
    return pair_elements(spans)


def _icu_arguments(line: str) -> Iterator[Span]:
    """Yield arguments of ICU messages such as {count, plural, one {# file} other {# files}}, whole."""
    position = 0
    while match := ICU_ARGUMENT.search(line, position):
        depth = 0
        for brace in BRACE.finditer(line, match.start()):
            depth += 1 if brace[0] == "{" else -1
            if not depth:
                position = brace.end()
                yield Span("placeholders", line[match.start() : position], match.start(), position)
                break
        else:
            return  # this brace, and so each one before it, is never closed


def pair_elements(spans: Sequence[Span]) -> list[Span]:
    """Return the spans, with start tags and end tags that belong together as `open` and `close`, properly nested."""
    roles = nested_roles(map(_element_keys, spans))
    return [span._replace(role=role) for span, role in zip(spans, roles, strict=True)]


def _element_keys(span: Span) -> tuple[str, str]:
    tag = ELEMENT_NAME.match(span.text) if span.kind == "markup" and not span.text.endswith("/>") else None
    if tag is None:
        return "", ""
    return ("", tag[2].lower()) if tag[1] else (tag[2].lower(), "")


def nested_roles(tags: Iterable[tuple[str, str]]) -> list[SpanRole]:
    """Return the role of each tag, given the key of the element that it opens, and of the one that it closes, or "".

    Tags with the same key become pairs as far as they nest; the others are single.
    """
    roles: list[SpanRole] = []
    opened, counts = list[tuple[str, int]](), Counter[str]()  # start tags without end tag so far
    for number, (opens, closes) in enumerate(tags):
        roles.append("single")
        if opens:
            opened.append((opens, number))
            counts[opens] += 1
        elif closes and counts[closes]:
            key, start = "", number
            while key != closes:
                key, start = opened.pop()
                counts[key] -= 1
            roles[start], roles[number] = "open", "close"
    return roles
