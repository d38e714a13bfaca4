"""The same tokens for every toolkit: files of pieces with spaces between them, which none has to cut any further."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

from weft.config.recipe import Recipe
from weft.core.errors import UserError
from weft.text.text_config import train_tokenizers
from weft.text.tokenizer import Tokenizer

SIDES = ("source", "target")


class Pieces(NamedTuple):
    """A folder of `train.source`, `train.target`, `few.source`, `few.target` and `vocabulary.txt`.

    `few` are the first pairs, for toolkits that will not start without validation data. The vocabulary has a piece a
    line, the most frequent first, without marks: each toolkit adds its own four.
    """

    folder: Path
    pairs: int
    vocabulary: int
    source_tokens: int  # with an end mark each, without padding
    target_tokens: int

    @property
    def words(self) -> Path:
        return self.folder / "vocabulary.txt"

    def file(self, split: str, side: str) -> Path:
        return self.folder / f"{split}.{side}"


def write_pieces(recipe: Recipe, folder: Path) -> Pieces:
    """Learn the recipe's joint tokenizer on its training files; write them as pieces."""
    pairs = [pair for pair in recipe.data.splits()["train"].pairs() if all(line.strip() for line in pair)]
    if not pairs:
        raise UserError("the training files have no pair without an empty side: give others")
    _, tokenizer = train_tokenizers(recipe.text, pairs, recipe.train.seed)
    sides = [spelled(tokenizer, lines) for lines in zip(*pairs, strict=True)]
    for side, rows in zip(SIDES, sides, strict=True):
        write_rows(folder / f"train.{side}", rows)
        write_rows(folder / f"few.{side}", rows[:10])
    counts = Counter(piece for rows in sides for row in rows for piece in row)
    ordered = sorted(counts, key=lambda piece: (-counts[piece], piece))
    write_rows(folder / "vocabulary.txt", [[piece] for piece in ordered])
    source, target = (sum(len(row) + 1 for row in rows) for rows in sides)
    return Pieces(folder, len(pairs), len(ordered), source, target)


def spelled(tokenizer: Tokenizer, lines: Iterable[str]) -> list[list[str]]:
    """The pieces of each line. One that holds white space goes by its number: toolkits differ in where they cut."""
    names = [name(number, piece) for number, piece in enumerate(tokenizer.tokens(range(tokenizer.size)))]
    return [[names[token] for token in row] for row in tokenizer.encode(lines)]


def name(number: int, piece: str) -> str:
    return piece if piece.split() == [piece] else f"<{number}>"


def write_rows(path: Path, rows: Sequence[Sequence[str]]) -> None:
    path.write_bytes("".join(" ".join(row) + "\n" for row in rows).encode())
