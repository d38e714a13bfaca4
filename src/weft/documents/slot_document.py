"""Documents of one language as slots: places that hold units are rewritten, everything else stays byte for byte."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from weft.documents.decoded_text import DecodedText
from weft.documents.document import DocumentError, FilledDocument, Unit
from weft.documents.replacements import Replacement, replace_ranges
from weft.text.marked_text import MarkedText

MAX_UNITS = 1_000_000
MAX_UNIT_LENGTH = 100_000
UNTRANSLATABLE, TOO_LONG = "nothing to translate", f"longer than {MAX_UNIT_LENGTH:,} characters"


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

    file: DecodedText
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
            if (reason := self.file.reject(text)) is None:
                replacements.append(Replacement(slot.first, slot.end, text))
            else:
                rejected.append((slot.unit, reason))
        settings = self.settings if any(text is not None for text in translations) else ()
        content = self.file.encode(replace_ranges(self.file.text, [*replacements, *settings]))
        return FilledDocument(content, tuple(rejected))


def check_units(count: int) -> None:
    if count > MAX_UNITS:
        raise DocumentError(f"has {count:,} texts (up to {MAX_UNITS:,} are possible). Split it")


def line_number(text: str, offset: int, previous: tuple[int, int] = (0, 1)) -> tuple[int, int]:
    """Return the offset and its line; `previous` is an earlier offset and its line."""
    return offset, previous[1] + text.count("\n", previous[0], offset)
