"""Training data of the toolkits: one corpus, tokenized into files of space-separated subword pieces."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

from benchmarks.command_line import log

from weft.config.recipe import Recipe, load_recipe
from weft.config.recipe_catalog import RECIPES_FOLDER
from weft.core.errors import UserError
from weft.data.datasets.catalog import find_dataset
from weft.data.datasets.download import download_dataset
from weft.text.text_config import train_tokenizers
from weft.text.tokenizer import Tokenizer

SIDES = ("source", "target")
CORPUS = "tatoeba-en-es"


class Pieces(NamedTuple):
    """A folder of `train.source`, `train.target`, `few.source`, `few.target` and `vocabulary.txt`.

    `few` holds the first pairs, for toolkits that require validation data. The vocabulary has one piece per line, the
    most frequent first, without special tokens: each toolkit adds its own four.
    """

    folder: Path
    pairs: int
    vocabulary: int
    source_tokens: int  # EOS included, without padding
    target_tokens: int

    @property
    def words(self) -> Path:
        return self.folder / "vocabulary.txt"

    def file(self, split: str, side: str) -> Path:
        return self.folder / f"{split}.{side}"


def read_recipe(name: str, data: Path, pieces: int) -> Recipe:
    """Load a recipe with its files in `data` and a joint BPE of this many pieces."""
    return load_recipe(
        RECIPES_FOLDER / name, [f"data.folder={data}", f"text.source={{type: bpe, vocab_size: {pieces}}}"]
    )


def download_recipe(name: str, folder: Path, pieces: int) -> Recipe:
    """Load a recipe with the Tatoeba corpus, downloaded into `folder` if it is not there."""
    corpus = download_dataset(find_dataset(CORPUS), folder.expanduser().absolute() / CORPUS, log)
    overrides = [f"data.folder={corpus.path}", "data.train=[train.tsv]", "data.valid=[valid.tsv]", "data.test=[]"]
    return load_recipe(RECIPES_FOLDER / name, [*overrides, f"text.source={{type: bpe, vocab_size: {pieces}}}"])


def write_pieces(recipe: Recipe, folder: Path) -> Pieces:
    """Train the recipe's joint tokenizer and write its training files as pieces."""
    pairs = [pair for pair in recipe.data.splits()["train"].pairs() if all(line.strip() for line in pair)]
    if not pairs:
        raise UserError("the training files have no pair without an empty side: give others")
    _, tokenizer = train_tokenizers(recipe.text, pairs, recipe.train.seed)
    sides = [encode_pieces(tokenizer, lines) for lines in zip(*pairs, strict=True)]
    for side, rows in zip(SIDES, sides, strict=True):
        write_rows(folder / f"train.{side}", rows)
        write_rows(folder / f"few.{side}", rows[:10])
    counts = Counter(piece for rows in sides for row in rows for piece in row)
    ordered = sorted(counts, key=lambda piece: (-counts[piece], piece))
    write_rows(folder / "vocabulary.txt", [[piece] for piece in ordered])
    source, target = (sum(len(row) + 1 for row in rows) for rows in sides)
    return Pieces(folder, len(pairs), len(ordered), source, target)


def encode_pieces(tokenizer: Tokenizer, lines: Iterable[str]) -> list[list[str]]:
    """Return the pieces of each line. A piece that contains white space becomes its id."""
    names = [piece_name(number, piece) for number, piece in enumerate(tokenizer.tokens(range(tokenizer.size)))]
    return [[names[token] for token in row] for row in tokenizer.encode(lines)]


def piece_name(number: int, piece: str) -> str:
    return piece if piece.split() == [piece] else f"<{number}>"


def write_rows(path: Path, rows: Sequence[Sequence[str]]) -> None:
    path.write_bytes("".join(" ".join(row) + "\n" for row in rows).encode())
