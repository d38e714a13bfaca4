"""The text of a file and its replacement: places that hold units are rewritten, everything else stays byte for byte."""

from __future__ import annotations

import codecs
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from weft.documents.document import DocumentError, FilledDocument, Unit
from weft.text.marked_text import MarkedText

MAX_BYTES, MAX_UNITS = 2**26, 1_000_000
MAX_UNIT_LENGTH = 100_000
BOMS = ((codecs.BOM_UTF8, "utf-8"), (codecs.BOM_UTF16_LE, "utf-16-le"), (codecs.BOM_UTF16_BE, "utf-16-be"))
UNTRANSLATABLE, TOO_LONG = "nothing to translate", f"longer than {MAX_UNIT_LENGTH:,} characters"


class FileText(NamedTuple):
    """A decoded file. A byte order mark is the first character of `text`, so that encoding it restores the file."""

    text: str
    encoding: str

    @classmethod
    def decode(cls, content: bytes, encoding: str = "utf-8") -> FileText:
        """Decode a file by its byte order mark, else by `encoding`; raise DocumentError if it would not come back."""
        check_size(content)
        encoding = next((name for bom, name in BOMS if content.startswith(bom)), encoding)
        try:
            text = content.decode(encoding)
            is_lossless = text.encode(encoding) == content
        except UnicodeError as error:
            raise DocumentError(f"the text is not {encoding.upper()}: {error}. Convert it to UTF-8") from None
        except LookupError:
            raise DocumentError(f"the character set {encoding} is unknown. Convert the file to UTF-8") from None
        if not is_lossless:
            raise DocumentError(f"the text is not regular {encoding.upper()}. Convert it to UTF-8")
        return cls(text, encoding)

    def can_encode(self, text: str) -> bool:
        try:
            text.encode(self.encoding)
        except UnicodeError:
            return False
        return True


def check_size(content: bytes) -> None:
    if len(content) > MAX_BYTES:
        raise DocumentError(f"is too large (more than {MAX_BYTES:,} bytes). Split it")


class Replacement(NamedTuple):
    """What replaces the text from `first` to before `end`."""

    first: int
    end: int
    text: str


def replace_ranges(text: str, replacements: Iterable[Replacement]) -> str:
    pieces, reached = list[str](), 0
    for replacement in sorted(replacements):
        pieces += [text[reached : replacement.first], replacement.text]
        reached = replacement.end
    return "".join([*pieces, text[reached:]])


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


class Slot(NamedTuple):
    """A unit and its range in the file. render: returns how the file writes a translation.

    reject: returns why a translation cannot stand there, or None.
    """

    unit: Unit
    first: int
    end: int
    render: Callable[[MarkedText], str]
    reject: Callable[[MarkedText], str | None]


@dataclass(frozen=True)
class SlotDocument:
    """A document of one language: translations replace the texts.

    settings: ranges with what the file of the target language has there, such as the name of the language.
    """

    file: FileText
    slots: Sequence[Slot]
    skipped: dict[str, int] = field(default_factory=dict)
    settings: Sequence[Replacement] = ()

    def __post_init__(self) -> None:
        check_units(len(self.slots))

    @property
    def units(self) -> list[Unit]:
        return [slot.unit for slot in self.slots]

    def fill(self, translations: Sequence[MarkedText | None]) -> FilledDocument:
        replacements, rejected = list[Replacement](), list[tuple[Unit, str]]()
        for slot, translation in zip(self.slots, translations, strict=True):
            if translation is None or translation.text == slot.unit.text.text:
                continue
            if (reason := slot.reject(translation)) is not None:
                rejected.append((slot.unit, reason))
                continue
            text = slot.render(translation)
            if self.file.can_encode(text):
                replacements.append(Replacement(slot.first, slot.end, text))
            else:
                rejected.append((slot.unit, f"{self.file.encoding.upper()} has not all characters of the translation"))
        settings = self.settings if any(text is not None for text in translations) else ()
        content = replace_ranges(self.file.text, [*replacements, *settings]).encode(self.file.encoding)
        return FilledDocument(content, tuple(rejected))


def check_units(count: int) -> None:
    if count > MAX_UNITS:
        raise DocumentError(f"has {count:,} texts (up to {MAX_UNITS:,} are possible). Split it")


def line_number(text: str, offset: int, previous: tuple[int, int] = (0, 1)) -> tuple[int, int]:
    """Return the offset and its line; `previous` is an earlier offset and its line."""
    return offset, previous[1] + text.count("\n", previous[0], offset)
