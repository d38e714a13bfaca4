"""Text to ids and back: one object of the `tokenizers` library, its ids moved up to make room for our marks."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from hashlib import blake2b
from itertools import chain
from pathlib import Path
from typing import Any, ClassVar, Literal, TypeAlias, TypeVar

import numpy as np
import tokenizers

from weft.core.bounded import read_bounded
from weft.core.errors import UserError
from weft.core.marks import FIRST_PIECE, NAMES
from weft.text.known_parts import unknown_part
from weft.text.pieces import BYTE_PIECES, SHOWN_SPACE, parts_words
from weft.text.reader import Reads
from weft.text.rows import Rows
from weft.text.word_memory import WordMemory

Item = TypeVar("Item")
Order: TypeAlias = Literal["forward", "backward"]  # from the first piece of a line to its last, or from the last
ENDINGS: Mapping[Order, str] = {"forward": "tokenizer.json", "backward": "backward.json"}  # of the names of files


class Tokenizer:
    """What a `Learner` has learned; saved as the library's own JSON.

    The library is told of no special token, so text such as "<pad>" or "</s>" is text like any other.

    size: the number of ids, marks included. unknown: the id of the unknown piece; None where bytes stand in for what
    was never seen. byte_pieces: the ids of single bytes. fingerprint: equal for tokenizers that do the same.
    order: of the pieces in a row of ids. Models with a `backward` target say a line from right to left.
    """

    reads: ClassVar[Reads] = "text"
    shape: ClassVar[tuple[int, ...]] = ()

    def __init__(self, library: tokenizers.Tokenizer, order: Order = "forward"):
        told = library.to_str()
        described: dict[str, Any] = json.loads(told)
        model: dict[str, Any] = described["model"]
        self._library = library
        self.order = order
        self.ending = ENDINGS[order]
        self.size = library.get_vocab_size() + FIRST_PIECE
        same = told if order == "forward" else f"{order} {told}"
        self.fingerprint = blake2b(same.encode(), digest_size=16).hexdigest()
        self.unknown = _unknown_id(library, model)
        self.byte_pieces = _byte_ids(library, model)
        self._single = frozenset(self.byte_pieces)
        self._memory = WordMemory(self.encode) if order == "forward" and parts_words(described) else None

    def encode(self, lines: Iterable[str]) -> list[list[int]]:
        """A row of ids for each line, without marks."""
        return [[piece + FIRST_PIECE for piece in row] for row in self._rows(lines)]

    def strangers(self, line: str) -> list[str]:
        """What of a line has no piece, and becomes the unknown one: letters, or words; each once."""
        encoding = self._library.encode(_encodable(line), add_special_tokens=False)
        places = zip(encoding.ids, encoding.offsets, strict=True)
        strange = (line[first:end] for piece, (first, end) in places if piece + FIRST_PIECE == self.unknown)
        return list(dict.fromkeys(part.strip() or part for part in strange))

    def encode_rows(self, lines: Iterable[str]) -> Rows:
        """The same in one array: for many lines this is faster."""
        if self._memory is not None:
            return self._memory.encode_rows(lines)
        pieces = self._rows(lines)
        lengths = np.fromiter(map(len, pieces), np.int64, len(pieces))
        return Rows(np.fromiter(chain.from_iterable(pieces), np.uint32, lengths.sum()) + FIRST_PIECE, lengths)

    def offsets(self, line: str) -> list[tuple[int, int]]:
        """Where each piece of a line stands in it (first, end); a space before a word may belong to its piece."""
        places: list[tuple[int, int]] = self._library.encode(_encodable(line), add_special_tokens=False).offsets
        return list(self.ordered(places))

    def decode(self, rows: Iterable[Sequence[int]]) -> list[str]:
        """A line for each row of ids; marks are left out."""
        pieces = [[token - FIRST_PIECE for token in self.ordered(row) if token >= FIRST_PIECE] for row in rows]
        lines: list[str] = self._library.decode_batch(pieces, skip_special_tokens=False)
        return lines

    def backward(self) -> Tokenizer:
        """The same pieces, with the last of a line first."""
        return Tokenizer(self._library, "backward")

    def ordered(self, row: Sequence[Item]) -> Sequence[Item]:
        """What stands in the order of the text in that of the ids, or the other way round."""
        return row if self.order == "forward" else row[::-1]

    def pieces(self, ids: Iterable[int]) -> list[str]:
        """How each id is shown to a person: marks by their names, a space as "▁"."""
        return [self._piece(token) for token in ids]

    def spelled(self, ids: Iterable[int]) -> list[bytes]:
        """Each piece in UTF-8, exactly: a byte piece may be but a part of a letter."""
        return [self._spelled(token) for token in ids]

    @property
    def puts_spaces(self) -> bool:
        """Does a space stand between any two pieces, though none of them has it?"""
        return self._library.decoder is None

    def vocabulary(self) -> list[str]:
        """How every id is shown, in their order."""
        return self.pieces(range(self.size))

    def raw_pieces(self) -> list[str]:
        """Every piece as the library has it, in the order of the ids: without the marks."""
        return [self._raw(token) for token in range(FIRST_PIECE, self.size)]

    def merges(self) -> list[tuple[int, int, int]]:
        """Byte-pair merges as ids (left, right, joined), first learned first; none for other kinds."""
        model: dict[str, Any] = json.loads(self.describe())["model"]
        ids = model["vocab"]
        return [
            (ids[left] + FIRST_PIECE, ids[right] + FIRST_PIECE, ids[left + right] + FIRST_PIECE)
            for left, right in model.get("merges", [])
        ]

    def describe(self) -> str:
        """The library's JSON: all there is to know."""
        described: str = self._library.to_str()
        return described

    def save(self, path: Path | str) -> None:
        Path(path).write_text(self.describe(), encoding="utf-8")

    @classmethod
    def load(cls, path: Path | str, order: Order = "forward") -> Tokenizer:
        """Read what `save` wrote."""
        try:
            described = read_bounded(Path(path)).decode("utf-8")
            _check_parts(path, described)
            library = tokenizers.Tokenizer.from_str(described)
        except UserError:
            raise
        except Exception as error:  # the library raises this very class for whatever it cannot read
            raise UserError(f"{path}: not a tokenizer file ({error}); learn the tokenizer again") from error
        if library.get_added_tokens_decoder():
            raise UserError(f"{path}: this tokenizer has special tokens, so text could turn into marks; learn one here")
        return cls(library, order)

    def _rows(self, lines: Iterable[str]) -> list[Sequence[int]]:
        """The library's numbers of the pieces of each line."""
        encodings = self._library.encode_batch_fast([_encodable(line) for line in lines], add_special_tokens=False)
        return [self.ordered(encoding.ids) for encoding in encodings]

    def _piece(self, token: int) -> str:
        return NAMES[token] if token < FIRST_PIECE else self._raw(token).replace(" ", SHOWN_SPACE)

    def _spelled(self, token: int) -> bytes:
        if token < FIRST_PIECE:
            return NAMES[token].encode()
        piece = self._raw(token)
        return bytes.fromhex(piece[3:5]) if token in self._single else piece.encode()  # <0x41>

    def _raw(self, token: int) -> str:
        """A piece as the library has it."""
        piece: str | None = self._library.id_to_token(token - FIRST_PIECE)
        if piece is None:
            raise ValueError(f"got id {token}, wanted less than {self.size}")
        return piece


def _check_parts(path: Path | str, described: str) -> None:
    part = unknown_part(json.loads(described))
    if part is not None:
        raise UserError(f"{path}: not a tokenizer file of Weft: its {part} is none that is learned; learn one here")


def _encodable(line: str) -> str:
    """Half of a surrogate pair is no letter and stands in no file, but JSON can spell it: it becomes "?"."""
    return line.encode("utf-8", "replace").decode("utf-8")


def _unknown_id(library: tokenizers.Tokenizer, model: dict[str, Any]) -> int | None:
    if model.get("byte_fallback"):
        return None
    piece = model.get("unk_id") if model["type"] == "Unigram" else library.token_to_id(model.get("unk_token") or "")
    return None if piece is None else piece + FIRST_PIECE


def _byte_ids(library: tokenizers.Tokenizer, model: dict[str, Any]) -> tuple[int, ...]:
    if not model.get("byte_fallback"):
        return ()
    found = (library.token_to_id(piece) for piece in BYTE_PIECES)
    return tuple(piece + FIRST_PIECE for piece in found if piece is not None)
