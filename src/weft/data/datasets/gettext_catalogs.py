"""Translation catalogs of gettext: .mo files and .po files are read into messages."""

import re
import struct
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from weft.core.errors import UserError

MO_MAGIC = 0x950412DE
CONTEXT_END = "\x04"
ESCAPE = re.compile(r"\\(?:([0-7]{1,3})|x([0-9A-Fa-f]{2})|(.))")
ESCAPED_CHARACTERS = {"n": "\n", "t": "\t", "r": "\r", "a": "\a", "b": "\b", "f": "\f", "v": "\v"}
KEYWORD = re.compile(r'(?P<keyword>msgctxt|msgid_plural|msgid|msgstr)(?:\[\d+\])?\s*(?P<string>".*")')


class CatalogMessage(NamedTuple):
    """A source string and its translation.

    plural: the English plural, or empty. translations: one for each plural form, or one. comment: what the program's
    source says about the string, which is kept in .po files alone.
    """

    source: str
    plural: str
    translations: tuple[str, ...]
    comment: str = ""


def read_mo(content: bytes, name: str) -> Iterator[CatalogMessage]:
    """Yield the translated messages of a .mo file, without its header; raise UserError if it is broken.

    Format: seven 32-bit numbers, of which the third to fifth are the number of strings and the offsets of two tables
    with length and offset of each source string and each translation.
    """
    try:
        order = next(mark for mark in "<>" if struct.unpack_from(f"{mark}I", content)[0] == MO_MAGIC)
        count, sources, translations = struct.unpack_from(f"{order}3I", content, 8)
        for row in range(count):
            source = _string_at(content, order, sources + 8 * row)
            translation = _string_at(content, order, translations + 8 * row)
            if source:
                text, _, plural = source.rpartition(CONTEXT_END)[2].partition("\0")
                yield CatalogMessage(text, plural, tuple(translation.split("\0")))
    except (struct.error, StopIteration, UnicodeDecodeError, IndexError) as error:
        raise UserError(f"{name}: not a .mo file, or a broken one ({str(error) or 'wrong first bytes'})") from None


def _string_at(content: bytes, order: str, row: int) -> str:
    length, offset = struct.unpack_from(f"{order}2I", content, row)
    if offset + length > len(content):
        raise IndexError(f"a string ends at byte {offset + length:,} of {len(content):,}")
    return content[offset : offset + length].decode("utf-8")


def read_po(lines: Iterable[str]) -> Iterator[CatalogMessage]:
    """Yield the messages of a .po file, without its header, fuzzy and obsolete ones; untranslated ones are empty."""
    entry = _PoEntry()
    for line in lines:
        line = line.strip()
        # A message ends at an empty line, or where a comment or another message follows its translation.
        if not line or (entry.translations and line.startswith(("#", "msgctxt", "msgid "))):
            yield from entry.messages()
            entry = _PoEntry()
        entry.add_line(line)
    yield from entry.messages()


class _PoEntry:
    """The lines of one message. A continued string belongs to the keyword before it."""

    def __init__(self) -> None:
        self.source: list[str] = []
        self.plural: list[str] = []
        self.translations: list[list[str]] = []
        self.comments: list[str] = []
        self.is_fuzzy = False
        self._string: list[str] = []

    def add_line(self, line: str) -> None:
        if line.startswith("#,"):
            self.is_fuzzy |= "fuzzy" in re.findall(r"[\w-]+", line)
        elif line.startswith("#."):
            self.comments.append(line.removeprefix("#.").strip())
        elif match := KEYWORD.fullmatch(line):
            self._string = [match["string"]]
            match match["keyword"]:
                case "msgid":
                    self.source = self._string
                case "msgid_plural":
                    self.plural = self._string
                case "msgstr":
                    self.translations.append(self._string)
        elif line.startswith('"'):
            self._string.append(line)

    def messages(self) -> Iterator[CatalogMessage]:
        """Yield the message, if there is one that is neither the header nor fuzzy."""
        source = unescape_strings(self.source)
        if source and self.translations and not self.is_fuzzy:
            translations = tuple(map(unescape_strings, self.translations))
            yield CatalogMessage(source, unescape_strings(self.plural), translations, "\n".join(self.comments))


def unescape_strings(strings: Iterable[str]) -> str:
    """Join quoted strings, with the escapes of C replaced by their characters."""
    return ESCAPE.sub(_unescape, "".join(string.removeprefix('"').removesuffix('"') for string in strings))


def _unescape(match: re.Match[str]) -> str:
    octal, hexadecimal, letter = match.groups()
    if octal or hexadecimal:
        return chr(int(octal, 8) if octal else int(hexadecimal, 16))
    return ESCAPED_CHARACTERS.get(letter, letter)
