"""The entries of a PO file with the lines that they stand on, and how strings are written there.

https://www.gnu.org/software/gettext/manual/html_node/PO-Files.html
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import NamedTuple
from unicodedata import combining, east_asian_width

from weft.core.formatting import quote
from weft.documents.document import DocumentError

LINE_WIDTH = 79
ESCAPE = re.compile(r"\\(?:([0-7]{1,3})|x([0-9A-Fa-f]{2})|(.))", re.DOTALL)
ESCAPED_CHARACTERS = {"n": "\n", "t": "\t", "r": "\r", "a": "\a", "b": "\b", "f": "\f", "v": "\v"}
_ESCAPES = str.maketrans(
    {char: f"\\{letter}" for letter, char in ESCAPED_CHARACTERS.items()} | {'"': '\\"', "\\": r"\\"}
)
STRING = re.compile(r'"((?:[^"\\]|\\.)*+)"')
KEYWORD = re.compile(r"(msgctxt|msgid_plural|msgid|msgstr)(?:\[([0-9]{1,3})\])?[ \t]*")
BREAK = re.compile(
    r" +|(?<=[^\W\d_]-)(?=[^\W\d_])"
    r"|(?<=[^ \\])(?=[\u2e80-\u9fff\uac00-\ud7a3\uff01-\uff60](?![、。，．！？）」』：；]))"
)
DEFAULT_COMMENT = re.compile(r'^Default: "(.*)"$', re.MULTILINE)


class PoString(NamedTuple):
    """A value, and its lines: from `first` to before `end`."""

    value: str
    first: int
    end: int


class CatalogMessage(NamedTuple):
    """A source string and its translation.

    plural: the English plural, or empty. translations: one for each plural form, or one. comment: what the program's
    source says about the string, which is kept in .po files alone.
    """

    source: str
    plural: str
    translations: tuple[str, ...]
    comment: str = ""


@dataclass(frozen=True)
class PoEntry:
    """A message. first, keyword: indices of its first line, which may be a comment, and of its first keyword.

    plural: the string of msgid_plural. comments: of programmers, without "#.". flags: such as fuzzy and c-format.
    """

    first: int
    keyword: int
    source: PoString
    plural: PoString | None
    context: PoString | None
    translations: tuple[PoString, ...]
    comments: tuple[str, ...] = ()
    flags: frozenset[str] = frozenset()

    @property
    def end(self) -> int:
        return self.translations[-1].end

    @property
    def is_header(self) -> bool:
        return not self.source.value and self.context is None

    @property
    def is_fuzzy(self) -> bool:
        return "fuzzy" in self.flags

    @property
    def is_translated(self) -> bool:
        return all(translation.value for translation in self.translations)

    @property
    def has_translation(self) -> bool:
        return any(translation.value for translation in self.translations)

    @property
    def message(self) -> CatalogMessage:
        plural = self.plural.value if self.plural else ""
        translations = tuple(translation.value for translation in self.translations)
        return CatalogMessage(self.source.value, plural, translations, "\n".join(self.comments))


def read_messages(lines: Iterable[str]) -> Iterator[CatalogMessage]:
    """Yield the messages of a .po file, without its header, fuzzy and obsolete ones; untranslated ones are empty."""
    return (entry.message for entry in parse_entries(lines) if entry.source.value and not entry.is_fuzzy)


def message_pairs(message: CatalogMessage) -> list[tuple[str, str]]:
    """Return the string with its translation, or singular and plural.

    A language with one form has the same for both, which translates the plural. With three forms or more, none of
    them translates the English plural for every number. A comment may contain the text of a message that is a name.
    """
    default = DEFAULT_COMMENT.search(message.comment)
    source = unescape(default[1]) if default else message.source
    match message.plural, message.translations:
        case "", (translation, *_):
            return [(source, translation)]
        case plural, (translation,):
            return [(plural, translation)]
        case plural, (singular_form, plural_form):
            return [(source, singular_form), (plural, plural_form)]
    return []


def parse_entries(lines: Iterable[str]) -> list[PoEntry]:
    """Return the entries in order, without obsolete ones; raise DocumentError if a line is no part of one."""
    entries, draft = list[PoEntry](), _EntryDraft(0)
    for number, line in enumerate(lines):
        line = line.strip()
        if draft.is_complete and not line.startswith(('"', "msgstr")):
            entries.append(draft.finish())
            draft = _EntryDraft(number)
        if line.startswith("#~") or not line:
            draft = draft if draft.keyword else _EntryDraft(number + 1)  # comments before belong to no message
        else:
            draft.add_line(number, line)
    if draft.keyword:
        entries.append(draft.finish())
    return entries


@dataclass
class _EntryDraft:
    """The lines of an entry so far. A continued string belongs to the keyword before it."""

    first: int
    strings: dict[str, PoString] = field(default_factory=dict)
    translations: list[PoString] = field(default_factory=list)
    comments: list[str] = field(default_factory=list)
    flags: set[str] = field(default_factory=set)
    keyword: str = ""
    _parts: list[str] = field(default_factory=list)
    _start: int = 0
    _end: int = 0

    @property
    def is_complete(self) -> bool:
        """Whether the next line can begin another entry."""
        return self.keyword == "msgstr"

    def add_line(self, number: int, line: str) -> None:
        if line.startswith("#,"):
            self.flags |= set(re.findall(r"[\w+-]+", line))
        elif line.startswith("#."):
            self.comments.append(line.removeprefix("#.").strip())
        elif line.startswith('"') and self.keyword:
            self._parts.append(_quoted(number, line))
            self._end = number + 1
        elif not line.startswith("#"):
            self._start_string(number, line)

    def _start_string(self, number: int, line: str) -> None:
        self._finish_string()
        match = KEYWORD.match(line)
        if match is None:
            raise DocumentError(f"line {number + 1} is no line of a PO file: {quote(line[:60])}. Correct it")
        keyword, index = match[1], match[2]
        expected = str(len(self.translations)) if keyword == "msgstr" and "msgid_plural" in self.strings else None
        needs_source = keyword in ("msgstr", "msgid_plural") and "msgid" not in self.strings
        is_repeated = keyword in self.strings or (keyword == "msgstr" and self.translations and expected is None)
        if index != expected or needs_source or is_repeated or (self.translations and keyword != "msgstr"):
            raise DocumentError(f"line {number + 1}: {match[0].strip()} is not expected here. Correct it")
        self.keyword, self._start, self._end = keyword, number, number + 1
        self._parts = [_quoted(number, line[match.end() :])]

    def _finish_string(self) -> None:
        if not self.keyword:
            return
        string = PoString(unescape("".join(self._parts)), self._start, self._end)
        if self.keyword == "msgstr":
            self.translations.append(string)
        else:
            self.strings[self.keyword] = string

    def finish(self) -> PoEntry:
        self._finish_string()
        if not self.translations:
            raise DocumentError(f"line {self._start + 1}: the message has no msgstr. Correct it")
        return PoEntry(
            self.first,
            min(string.first for string in self.strings.values()),
            self.strings["msgid"],
            self.strings.get("msgid_plural"),
            self.strings.get("msgctxt"),
            tuple(self.translations),
            tuple(self.comments),
            frozenset(self.flags),
        )


def _quoted(number: int, text: str) -> str:
    match = STRING.fullmatch(text)
    if match is None:
        raise DocumentError(f"line {number + 1}: a string in quotation marks is expected. Correct it")
    return match[1]


def unescape(text: str) -> str:
    """Replace the escapes of C by their characters."""
    return ESCAPE.sub(_unescape, text) if "\\" in text else text


def _unescape(match: re.Match[str]) -> str:
    octal, hexadecimal, letter = match.groups()
    if octal or hexadecimal:
        return chr(int(octal, 8) if octal else int(hexadecimal, 16))
    return ESCAPED_CHARACTERS.get(letter, letter)


def write_string(keyword: str, value: str, wraps: bool = True) -> list[str]:
    """Return the lines of a string as gettext writes them: a line per line of the value, wrapped at `LINE_WIDTH`."""
    escaped = [line.translate(_ESCAPES) for line in re.findall(r"[^\n]*\n|[^\n]+", value)]
    if len(escaped) <= 1:
        line = f'{keyword} "{"".join(escaped)}"'
        if not wraps or _width(line) <= LINE_WIDTH:
            return [line]
    pieces = [piece for line in escaped for piece in (_wrap(line) if wraps else [line])]
    if len(pieces) == 1:
        return [f'{keyword} ""', f'"{pieces[0]}"'] if wraps else [f'{keyword} "{pieces[0]}"']
    return [f'{keyword} ""', *(f'"{piece}"' for piece in pieces)]


def _wrap(line: str) -> list[str]:
    """Break after white space and before CJK characters, so that each piece in quotation marks fits."""
    pieces, current, width = list[str](), list[str](), 0
    for word in _words(line):
        size = _width(word)
        if current and width + size > LINE_WIDTH - 2:
            pieces.append("".join(current))
            current, width = [], 0
        current.append(word)
        width += size
    return [*pieces, "".join(current)]


def _words(line: str) -> Iterator[str]:
    reached = 0
    for match in BREAK.finditer(line):
        if match.end() > reached:
            yield line[reached : match.end()]
            reached = match.end()
    if reached < len(line):
        yield line[reached:]


def _width(text: str) -> int:
    if text.isascii():
        return len(text)
    return sum(2 if east_asian_width(char) in "WF" else not combining(char) for char in text)
