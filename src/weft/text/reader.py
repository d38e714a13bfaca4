"""What turns the lines of a side into positions: ids of pieces, or the columns of pictures."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Literal, Protocol, TypeGuard

from weft.core.errors import UserError
from weft.core.types import Vocabulary
from weft.text.rows import Rows

if TYPE_CHECKING:
    from weft.text.tokenizer import Tokenizer

Reads = Literal["text", "pictures"]  # what a line is, or what it names
PICTURES = 64  # in memory at once: each may be as large as thousands of lines


class Reader(Protocol):
    """A tokenizer, or a reader of pictures, which can only be a source.

    shape: of a position: () an id, [height] a column. size: how many values each of its numbers can have.
    unknown: the id of the unknown piece, if there is one. byte_pieces: the ids of single bytes.
    fingerprint: equal for readers that do the same. ending: what the name of its file ends in.
    """

    @property
    def reads(self) -> Reads: ...

    @property
    def shape(self) -> tuple[int, ...]: ...

    @property
    def size(self) -> int: ...

    @property
    def unknown(self) -> int | None: ...

    @property
    def byte_pieces(self) -> tuple[int, ...]: ...

    @property
    def fingerprint(self) -> str: ...

    @property
    def ending(self) -> str: ...

    def encode_rows(self, lines: Iterable[str]) -> Rows:
        """A row of positions for each line, without marks; LineError for a line that cannot be read."""
        ...

    def vocabulary(self) -> Vocabulary:
        """How each id is shown, or each row of a picture."""
        ...

    def describe(self) -> str:
        """All there is to know, as JSON."""
        ...

    def save(self, path: Path | str) -> None:
        """Write that into a file."""
        ...


class LineError(UserError):
    """A line that a reader cannot read: the `row`-th of those that it was given, counted from 0."""

    def __init__(self, row: int, text: str):
        super().__init__(text)
        self.row = row


def at_once(reader: Reader, lines: int) -> int:
    """How many to read in one call: so many lines, but only a few pictures."""
    return lines if reader.reads == "text" else min(lines, PICTURES)


def is_tokenizer(reader: Reader) -> TypeGuard[Tokenizer]:
    """Does it read text? Then it can also write it."""
    return reader.reads == "text"
