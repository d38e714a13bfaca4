"""ICU messages: the texts in the branches of {n, plural, one {# file} other {# files}} and select.

https://unicode-org.github.io/icu/userguide/format_parse/messages/
"""

from __future__ import annotations

import re
from typing import NamedTuple

MAX_DEPTH = 20
ARGUMENT = re.compile(r"\{\s*\w{1,100}\s*,\s*(?:plural|selectordinal|select)\s*,(?:\s*offset:\s*[0-9]{1,9})?")
SELECTOR = re.compile(r"\s*(?:=[0-9]{1,9}|[\w-]{1,100})\s*\{")
PLURAL = re.compile(r"\{\s*\w{1,100}\s*,\s*(?:plural|selectordinal)\s*,")
BRACES = re.compile(r"'[{}][^']{0,1000}'|[{}]")
QUOTE_BEFORE_BRACE = re.compile(r"'(?=[{}#])")


class MessageRange(NamedTuple):
    """A text from `first` to before `end`; in a plural, # stands for the number."""

    first: int
    end: int
    is_plural: bool = False


def find_message_ranges(message: str) -> list[MessageRange] | None:
    """Return the texts of the branches; None if the message has none, or text around them, which is one sentence.

    Text around an argument and its branches belong together, so that such a message cannot be translated in parts.
    """
    match = ARGUMENT.match(message.strip())
    if match is None:
        return None
    return _Branches(message).read(len(message) - len(message.lstrip()), len(message.rstrip()), False, 0)


class _Branches:
    def __init__(self, message: str) -> None:
        self._message = message

    def read(self, first: int, end: int, is_plural: bool, depth: int) -> list[MessageRange] | None:
        """Return the texts of an argument that fills the range, or the range itself if it is a text."""
        match = ARGUMENT.match(self._message, first, end)
        if match is None or depth > MAX_DEPTH or self._closing_brace(first, end) != end - 1:
            has_argument = ARGUMENT.search(self._message, first, end) is not None
            return None if has_argument or depth == 0 else [MessageRange(first, end, is_plural)]
        is_plural = is_plural or PLURAL.match(self._message, first) is not None
        ranges, position = list[MessageRange](), match.end()
        while selector := SELECTOR.match(self._message, position, end - 1):
            position = self._closing_brace(selector.end() - 1, end) + 1
            inside = self._core(selector.end(), position - 1)
            inner = self.read(*inside, is_plural, depth + 1) if position else None
            if inner is None:
                return None
            ranges += inner
        return ranges if not self._message[position : end - 1].strip() else None

    def _core(self, first: int, end: int) -> tuple[int, int]:
        text = self._message[first:end]
        return first + len(text) - len(text.lstrip()), first + len(text.rstrip()) if text.strip() else first

    def _closing_brace(self, first: int, end: int) -> int:
        """Return the offset of the brace that closes the one at `first`, or -1."""
        depth = 0
        for match in BRACES.finditer(self._message, first, end):
            depth += {"{": 1, "}": -1}.get(match[0], 0)
            if not depth:
                return match.start()
        return -1
