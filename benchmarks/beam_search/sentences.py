"""Sentences to decode, as rows of ids: from Multi30k, or random with similar lengths."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from random import Random
from typing import NamedTuple

from benchmarks.beam_search.job import Batching

from weft.config.recipe import load_recipe
from weft.config.recipe_catalog import RECIPES_FOLDER
from weft.core.errors import UserError
from weft.core.seeds import derive_seed
from weft.inference.backends import batch_by_length
from weft.text.text_config import train_tokenizers
from weft.text.tokenizer import Tokenizer
from weft.text.tokenizer_training import WhitespaceTokenizerTrainer

RECIPE = RECIPES_FOLDER / "multi30k-en-de.yaml"
SEED = 1
SHORTEST, USUAL, SPREAD, LONGEST = 4, 14, 5, 40  # pieces of a random sentence, similar to Multi30k


class Sentences(NamedTuple):
    """Rows of ids without special tokens, longest first, and a whitespace tokenizer whose pieces are numbers."""

    rows: list[list[int]]
    tokenizer: Tokenizer

    def batches(self, batching: Batching) -> list[list[list[int]]]:
        """Split the rows into batches."""
        if batching.unit == "tokens":
            runs = batch_by_length(range(len(self.rows)), self.rows, batching.size)
            return [[self.rows[number] for number in run] for run in runs]
        return [self.rows[first : first + batching.size] for first in range(0, len(self.rows), batching.size)]


def read_sentences(data: Path, pieces: int, count: int) -> Sentences:
    """Read the first sentences of Multi30k's test set, with a joint BPE trained on its training set."""
    recipe = load_recipe(RECIPE, [f"data.folder={data}", f"text.source={{type: bpe, vocab_size: {pieces}}}"])
    splits = recipe.data.splits()
    reader, _ = train_tokenizers(recipe.text, splits["train"].pairs(), recipe.train.seed)
    lines = [source for source, _ in splits["test"].pairs() if source.strip()]
    if not lines:
        raise UserError(f"{data}: the test set has no sentence")
    return number_pieces([row.tolist() for row in reader.encode_rows(lines[:count]).split()], pieces)


def make_sentences(pieces: int, count: int) -> Sentences:
    """Draw random sentences with a fixed seed."""
    draws = Random(derive_seed(SEED, "sentences"))
    lengths = [min(max(round(draws.gauss(USUAL, SPREAD)), SHORTEST), LONGEST) for _ in range(count)]
    return number_pieces([[draws.randrange(pieces) for _ in range(length)] for length in lengths], pieces)


def number_pieces(rows: Sequence[Sequence[int]], pieces: int) -> Sentences:
    """Represent each piece by its number as a word, so that engines exchange only ids."""
    most = max(pieces, 1 + max(max(row) for row in rows))
    tokenizer = WhitespaceTokenizerTrainer().train([" ".join(map(str, range(most)))])
    found = tokenizer.encode(" ".join(map(str, row)) for row in rows)
    return Sentences(sorted(found, key=len, reverse=True), tokenizer)
