"""Requests from lines of JSON: {"text": "A house.", "include": ["Haus"], "exclude": ["Gebäude"]}."""

import json
from collections.abc import Iterable, Iterator
from difflib import get_close_matches
from typing import Any

from weft.control.request import Request
from weft.control.spans import Kind, kinds_of
from weft.core.errors import UserError

FIELDS = ("text", "prefix", "bias", "include", "ordered", "exclude", "vocabulary", "protect")


def read_requests(lines: Iterable[str]) -> Iterator[Request]:
    """One for each line; a blank line asks for the translation of nothing."""
    for number, line in enumerate(lines, 1):
        try:
            yield read_request(line) if line.strip() else Request("")
        except UserError as error:
            raise UserError(f"line {number}: {error}") from error


def read_request(line: str) -> Request:
    """What the line says, checked."""
    return request_of(_object(line))


def request_of(node: dict[str, Any]) -> Request:
    """What an object with some of the names of FIELDS says, checked."""
    prefix, include = _text(node, "prefix", ""), _alternatives(node)
    return Request(
        _text(node, "text", None),
        prefix,
        _bias(node, prefix),
        include,
        len(include) if _is_ordered(node) else 0,
        _phrases(node, "exclude"),
        _listed(node["vocabulary"], "vocabulary") if node.get("vocabulary") is not None else None,
        _kinds(node),
    )


def _object(line: str) -> dict[str, Any]:
    try:
        node = json.loads(line)
    except (json.JSONDecodeError, RecursionError) as error:
        raise UserError(f"not JSON ({error}); write an object a line, as {_example()}") from None
    if not isinstance(node, dict):
        raise UserError(f"should be a JSON object with the text to translate, as {_example()}")
    for name in node:
        if name not in FIELDS:
            nearest = get_close_matches(name, FIELDS, n=1)
            meant = f" Is it {nearest[0]}?" if nearest else ""
            raise UserError(f"{_shown(name)} is none of the names that a line may have: {', '.join(FIELDS)}.{meant}")
    return node


def _text(node: dict[str, Any], name: str, default: str | None) -> str:
    value = node.get(name, default)
    if not isinstance(value, str):
        found = f"not {_shown(value)}" if name in node else "and it is missing"
        raise UserError(f'"{name}" should be a text, {found}')
    if "\n" in value:
        raise UserError(f'"{name}" has a line end in it: give each line by itself')
    return value


def _bias(node: dict[str, Any], prefix: str) -> float | None:
    value = node.get("bias")
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < 1:
        raise UserError(f'"bias" should be more than 0 and less than 1, not {_shown(value)}')
    if not prefix:
        raise UserError('"bias" says how much an output is drawn to its "prefix", which is missing')
    return float(value)


def _is_ordered(node: dict[str, Any]) -> bool:
    value = node.get("ordered", False)
    if not isinstance(value, bool):
        raise UserError(f'"ordered" should be true or false, not {_shown(value)}')
    if value and not node.get("include"):
        raise UserError('"ordered" is about the phrases of "include", which is missing')
    return value


def _alternatives(node: dict[str, Any]) -> tuple[tuple[str, ...], ...]:
    value = node.get("include", [])
    if not isinstance(value, list):
        raise UserError(f'"include" should be a list of phrases, as ["Haus", ["Mann", "Herr"]], not {_shown(value)}')
    return tuple(_listed([one] if isinstance(one, str) else one, "include") for one in value)


def _phrases(node: dict[str, Any], name: str) -> tuple[str, ...]:
    """Perhaps none."""
    return _listed(node[name], name) if node.get(name) not in (None, []) else ()


def _kinds(node: dict[str, Any]) -> tuple[Kind, ...]:
    kinds = _phrases(node, "protect")
    try:
        return kinds_of(kinds)
    except UserError as error:
        raise UserError(f'"protect": {error}') from error


def _listed(value: object, name: str) -> tuple[str, ...]:
    """A list of phrases, none of them blank."""
    if not isinstance(value, list) or not value:
        raise UserError(f'"{name}" should be a list of phrases, not {_shown(value)}')
    for phrase in value:
        if not isinstance(phrase, str) or not phrase.strip():
            raise UserError(f'"{name}" should hold phrases, but one is {_shown(phrase)}')
        if "\n" in phrase.strip():
            raise UserError(f'"{name}" has a phrase with a line end in it, {_shown(phrase)}, but an output is one line')
    return tuple(phrase.strip() for phrase in value)


def _example() -> str:
    return '{"text": "A house.", "include": ["Haus"]}'


def _shown(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)
