"""A line to translate with the constraints on its translation, from a line of text or of JSON such as
{"text": "A house.", "include": ["Haus"]}. Imports no torch: every command and backend uses it.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, fields, replace
from typing import Any

from weft.core.errors import UserError
from weft.core.formatting import did_you_mean, quote
from weft.text.span_patterns import Span, SpanKind, parse_span_kinds

EXAMPLE = '{"text": "A house.", "include": ["Haus"]}'


@dataclass(frozen=True, slots=True)
class Request:
    """A line to translate with the constraints on its translation.

    - prefix: the beginning of the translation.
    - prefix_bias: None if the prefix is forced; otherwise how strongly it is preferred, between 0 and 1 (exclusive).
    - include: phrases that the translation contains as whole words; each is a tuple of alternatives, any one of which
      is enough. A phrase that is given twice must appear twice; different phrases may overlap.
    - ordered: how many of the first phrases of `include` must appear in this order.
    - exclude: phrases that the translation does not contain.
    - vocabulary: words whose tokens the translation consists of; None: any tokens.
    - protect: kinds of spans that are found in the text and copied unchanged (text/span_patterns.py); None: by default.
    - spans: parts of the text that are copied unchanged because a document format says so.
    """

    text: str
    prefix: str = ""
    prefix_bias: float | None = None
    include: tuple[tuple[str, ...], ...] = ()
    ordered: int = 0
    exclude: tuple[str, ...] = ()
    vocabulary: tuple[str, ...] | None = None
    protect: tuple[SpanKind, ...] | None = None
    spans: tuple[Span, ...] = ()

    @classmethod
    def of(cls, line: str | Request) -> Request:
        """Return a line without constraints as a request; requests are returned as they are."""
        return cls(line) if isinstance(line, str) else line

    @property
    def is_plain(self) -> bool:
        """Whether there are no constraints on the search."""
        return not (self.prefix or self.include or self.exclude) and self.vocabulary is None


@dataclass(frozen=True)
class RequestReader:
    """Turns input lines into requests.

    prefix, protect: for all lines except blank ones. as_json: each line is a JSON object with its own constraints; its
    own prefix and protected kinds override those for all lines.
    """

    prefix: str = ""
    as_json: bool = False
    protect: tuple[SpanKind, ...] | None = None

    def __call__(self, lines: Iterable[str]) -> Iterator[Request]:
        requests = parse_requests(lines) if self.as_json else map(Request, lines)
        return map(self._add_constraints, requests)

    def _add_constraints(self, request: Request) -> Request:
        if not request.text.strip():
            return request
        protect = self.protect if request.protect is None else request.protect
        return replace(request, prefix=request.prefix or self.prefix, protect=protect)


PLAIN_READER = RequestReader()


def parse_requests(lines: Iterable[str]) -> Iterator[Request]:
    """Parse each line as JSON; a blank line is a request for an empty text."""
    for number, line in enumerate(lines, 1):
        try:
            yield parse_request(line) if line.strip() else Request("")
        except UserError as error:
            raise UserError(f"line {number}: {error}") from error


def parse_request(line: str) -> Request:
    """Parse and check a JSON object."""
    try:
        node = json.loads(line)
    except (json.JSONDecodeError, RecursionError) as error:
        raise UserError(f"not JSON ({error}). Write one object per line, such as {EXAMPLE}") from None
    if not isinstance(node, dict):
        raise UserError(f"expected a JSON object with the text to translate, such as {EXAMPLE}")
    known = [field.name for field in fields(Request) if field.name != "spans"]
    for name in node:
        if name not in known:
            hint = did_you_mean(name, known)
            raise UserError(f"unknown field {quote(name)}{hint} (the fields are {', '.join(known)})")
    return request_from_dict(node)


def request_from_dict(node: dict[str, Any]) -> Request:
    """Check an object whose keys are fields of a request."""
    prefix, include, ordered = _text_field(node, "prefix", ""), node.get("include", []), node.get("ordered", False)
    if not isinstance(include, list):
        raise UserError(f'"include" must be a list of phrases like ["Haus", ["Mann", "Herr"]], got {quote(include)}')
    if not isinstance(ordered, bool):
        raise UserError(f'"ordered" must be true or false, got {quote(ordered)}')
    if ordered and not include:
        raise UserError('"ordered" needs phrases in "include", which is missing')
    protect = None if node.get("protect") is None else _phrases_field(node, "protect")
    try:
        kinds = None if protect is None else parse_span_kinds(protect)
    except UserError as error:
        raise UserError(f'"protect": {error}') from error
    return Request(
        _text_field(node, "text", None),
        prefix,
        _prefix_bias_field(node, prefix),
        tuple(_phrase_list([item] if isinstance(item, str) else item, "include") for item in include),
        len(include) if ordered else 0,
        _phrases_field(node, "exclude"),
        _phrase_list(node["vocabulary"], "vocabulary") if node.get("vocabulary") is not None else None,
        kinds,
    )


def _text_field(node: dict[str, Any], name: str, default: str | None) -> str:
    value = node.get(name, default)
    if not isinstance(value, str):
        found = f"got {quote(value)}" if name in node else "but it is missing"
        raise UserError(f'"{name}" must be a string, {found}')
    if "\n" in value:
        raise UserError(f'"{name}" contains a line break: use one object per line')
    return value


def _prefix_bias_field(node: dict[str, Any], prefix: str) -> float | None:
    value = node.get("prefix_bias")
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < 1:
        raise UserError(f'"prefix_bias" must be more than 0 and less than 1, got {quote(value)}')
    if not prefix:
        raise UserError('"prefix_bias" needs a "prefix", which is missing')
    return float(value)


def _phrases_field(node: dict[str, Any], name: str) -> tuple[str, ...]:
    return _phrase_list(node[name], name) if node.get(name) not in (None, []) else ()


def _phrase_list(value: Any, name: str) -> tuple[str, ...]:
    """Check a list of phrases; none may be blank."""
    phrases = value if isinstance(value, list) else []
    if not phrases:
        raise UserError(f'"{name}" must be a list of phrases, got {quote(value)}')
    for phrase in phrases:
        if not isinstance(phrase, str) or not phrase.strip():
            raise UserError(f'"{name}" must contain phrases, but one is {quote(phrase)}')
        if "\n" in phrase.strip():
            raise UserError(f'"{name}" has a phrase with a line break: {quote(phrase)}, but an output is one line')
    return tuple(phrase.strip() for phrase in phrases)
