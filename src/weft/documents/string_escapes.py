"""How a file of strings writes characters: a translation is written in the style that the file has."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple


@dataclass(frozen=True)
class EscapeStyle:
    """required: the escapes that the syntax demands. found: other characters that the file writes as escapes only.

    is_ascii: whether all characters that are not ASCII are escaped, by `number`, which gets a UTF-16 code unit;
    is_latin: those that are not in ISO-8859-1.
    """

    required: Mapping[str, str]
    found: Mapping[str, str]
    is_ascii: bool
    number: Callable[[int], str]
    is_latin: bool = False

    @classmethod
    def of(
        cls, text: str, pattern: re.Pattern[str], decode: Callable[[re.Match[str]], str], required: Mapping[str, str]
    ) -> EscapeStyle:
        """Return the style of a file. Numeric escapes are \\uXXXX, with the letters of the first one in the file."""
        matches = {match[0]: decode(match) for match in pattern.finditer(text)}
        rest = pattern.sub("", text)
        found = {char: raw for raw, char in reversed(matches.items()) if len(char) == 1 and char not in rest}
        letters = "".join(raw[2:] for raw in matches if raw.startswith(("\\u", "\\U")))
        template = r"\U" if any(raw.startswith(r"\U") for raw in matches) else r"\u"
        digits = "04x" if re.search("[a-f]", letters) or not re.search("[A-F]", letters) else "04X"
        is_ascii = any(not char.isascii() for char in matches.values()) and rest.isascii()
        return cls(required, found, is_ascii, lambda unit: f"{template}{unit:{digits}}")

    def escape(self, text: str) -> str:
        return "".join(map(self._escape, text))

    def _escape(self, char: str) -> str:
        if (escaped := self.found.get(char) or self.required.get(char)) is not None:
            return escaped
        if "\ud800" <= char <= "\udfff" or (self.is_ascii and not char.isascii()) or (self.is_latin and char > "\xff"):
            return self.escape_number(char)
        return char

    def escape_number(self, char: str) -> str:
        units = char.encode("utf-16-be", "surrogatepass")
        return "".join(self.number(int.from_bytes(units[index : index + 2])) for index in range(0, len(units), 2))


class EscapedString(NamedTuple):
    """The value of a string in a file. offsets: where each character begins in the file, and where the string ends."""

    text: str
    offsets: Sequence[int]

    @classmethod
    def decode(
        cls, text: str, first: int, end: int, escape: re.Pattern[str], unescape: Callable[[re.Match[str]], str]
    ) -> EscapedString:
        """Decode the range of a file; `unescape` returns the characters that a match of `escape` stands for."""
        pieces, offsets, reached = list[str](), list[int](), first
        for match in escape.finditer(text, first, end):
            value = unescape(match)
            pieces += [text[reached : match.start()], value]
            offsets += [*range(reached, match.start()), *[match.start()] * len(value)]
            reached = match.end()
        if not pieces:
            return cls(text[first:end], range(first, end + 1))
        return cls("".join([*pieces, text[reached:end]]), [*offsets, *range(reached, end + 1)])
