"""What a file format provides: the texts of a document, and the document with their translations."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol

from weft.core.errors import UserError
from weft.text.marked_text import MarkedText


class DocumentError(UserError):
    """A file is damaged or uses what cannot be handled; the message names the place, but not the file."""


class Unit(NamedTuple):
    """A text that is translated by itself: a message, a subtitle, a paragraph.

    location: where it is in the file, for messages: "line 12".
    """

    text: MarkedText
    location: str


@dataclass(frozen=True)
class DocumentOptions:
    """source, target: language codes, which some formats contain ("" if unknown).

    overwrite: also translate units that have a translation; by default they stay as they are.
    """

    source: str = ""
    target: str = ""
    overwrite: bool = False


class Document(Protocol):
    """A parsed file.

    skipped: how many units are not to be translated, by reason, such as {"already translated": 12}.
    """

    @property
    def units(self) -> Sequence[Unit]: ...

    @property
    def skipped(self) -> dict[str, int]: ...

    def fill(self, translations: Sequence[MarkedText | None]) -> FilledDocument:
        """Return the file with a translation for each unit (None: the unit stays as it is).

        The bytes around the units stay. Spans are written as they are; the text between them is escaped as the format
        requires. A translation that the format cannot hold (other placeholders than the source) is left out.
        """
        ...


class FilledDocument(NamedTuple):
    """rejected: units whose translation was left out, with the reason."""

    content: bytes
    rejected: tuple[tuple[Unit, str], ...] = ()


class DocumentFormat(NamedTuple):
    """A file format.

    name: for --format and messages. suffixes: of file names, in lower case, with the dot. matches: whether the content
    of a file is of this format, asked where the suffix does not tell. open: raises DocumentError.
    read_pairs: yields source and target of each translated unit, for formats with both sides.
    """

    name: str
    title: str
    suffixes: tuple[str, ...]
    matches: Callable[[bytes], bool]
    open: Callable[[bytes, DocumentOptions], Document]
    read_pairs: Callable[[bytes, DocumentOptions], Iterator[tuple[MarkedText, MarkedText]]] | None = None
