"""The text that is trained on: a person's own files, or a corpus that is fetched."""

from __future__ import annotations

from pathlib import Path

from benchmarks.telling import tell

from weft.config.recipe import Recipe, load_recipe
from weft.config.recipe_catalog import RECIPES_FOLDER
from weft.data.datasets.download import download_dataset

CORPUS = "tatoeba-en-es"


def read_recipe(name: str, data: Path, pieces: int) -> Recipe:
    """The recipe of this name with its files in `data`, and a joint BPE of so many pieces."""
    return load_recipe(
        RECIPES_FOLDER / name, [f"data.folder={data}", f"text.source={{type: bpe, vocab_size: {pieces}}}"]
    )


def fetched_recipe(name: str, place: Path, pieces: int) -> Recipe:
    """The same with a corpus of Weft's catalogue, which is fetched into `place` unless it is there."""
    corpus = download_dataset(CORPUS, place.expanduser().absolute() / CORPUS, tell)
    overrides = [f"data.folder={corpus.path}", "data.train=[train.tsv]", "data.valid=[valid.tsv]", "data.test=[]"]
    return load_recipe(RECIPES_FOLDER / name, [*overrides, f"text.source={{type: bpe, vocab_size: {pieces}}}"])
