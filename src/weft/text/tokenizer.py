"""Text to ids and back: one object of the `tokenizers` library, its ids moved up to make room for our marks."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from hashlib import blake2b
from itertools import chain
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import tokenizers

from weft.core.errors import UserError
from weft.core.marks import FIRST_PIECE, NAMES
from weft.text.pieces import BYTE_PIECES, SHOWN_SPACE
from weft.text.reader import Reads
from weft.text.rows import Rows


class Tokenizer:
    """What a `Learner` has learned; saved as the library's own JSON.

    The library is told of no special token, so text such as "<pad>" or "</s>" is text like any other.

    size: the number of ids, marks included. unknown: the id of the unknown piece; None where bytes stand in for what
    was never seen. byte_pieces: the ids of single bytes. fingerprint: equal for tokenizers that do the same.
    """

    reads: ClassVar[Reads] = "text"
    shape: ClassVar[tuple[int, ...]] = ()
    ending: ClassVar[str] = "tokenizer.json"

    def __init__(self, library: tokenizers.Tokenizer):
        described = library.to_str()
        model: dict[str, Any] = json.loads(described)["model"]
        self._library = library
        self.size = library.get_vocab_size() + FIRST_PIECE
        self.fingerprint = blake2b(described.encode(), digest_size=16).hexdigest()
        self.unknown = _unknown_id(library, model)
        self.byte_pieces = _byte_ids(library, model)

    def encode(self, lines: Iterable[str]) -> list[list[int]]:
        """A row of ids for each line, without marks."""
        return [[piece + FIRST_PIECE for piece in encoding.ids] for encoding in self._encodings(lines)]

    def encode_rows(self, lines: Iterable[str]) -> Rows:
        """The same in one array: for many lines this is faster."""
        pieces = [encoding.ids for encoding in self._encodings(lines)]
        lengths = np.fromiter(map(len, pieces), np.int64, len(pieces))
        return Rows(np.fromiter(chain.from_iterable(pieces), np.uint32, lengths.sum()) + FIRST_PIECE, lengths)

    def decode(self, rows: Iterable[Sequence[int]]) -> list[str]:
        """A line for each row of ids; marks are left out."""
        pieces = [[token - FIRST_PIECE for token in row if token >= FIRST_PIECE] for row in rows]
        lines: list[str] = self._library.decode_batch(pieces, skip_special_tokens=False)
        return lines

    def pieces(self, ids: Iterable[int]) -> list[str]:
        """How each id is shown to a person: marks by their names, a space as "▁"."""
        return [self._piece(token) for token in ids]

    def vocabulary(self) -> list[str]:
        """How every id is shown, in their order."""
        return self.pieces(range(self.size))

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
    def load(cls, path: Path | str) -> Tokenizer:
        """Read what `save` wrote."""
        try:
            described = Path(path).read_text(encoding="utf-8")
            library = tokenizers.Tokenizer.from_str(described)
        except Exception as error:  # the library raises this very class for whatever it cannot read
            raise UserError(f"{path}: not a tokenizer file ({error}); learn the tokenizer again") from error
        if library.get_added_tokens_decoder():
            raise UserError(f"{path}: this tokenizer has special tokens, so text could turn into marks; learn one here")
        return cls(library)

    def _encodings(self, lines: Iterable[str]) -> list[tokenizers.Encoding]:
        return self._library.encode_batch_fast([_encodable(line) for line in lines], add_special_tokens=False)

    def _piece(self, token: int) -> str:
        if token < FIRST_PIECE:
            return NAMES[token]
        piece: str | None = self._library.id_to_token(token - FIRST_PIECE)
        if piece is None:
            raise ValueError(f"got id {token}, wanted less than {self.size}")
        return piece.replace(" ", SHOWN_SPACE)


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
