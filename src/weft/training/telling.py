"""What the first rank knows of a run, told to the others, whose machines need not have the files of recipe and run."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory

from weft.config.reader import describe, read
from weft.config.recipe import Recipe
from weft.config.registry import REGISTRY
from weft.store.readers import load_tokenizers, save_tokenizers
from weft.text.reader import Reader
from weft.text.tokenizer import Tokenizer
from weft.training.ranks import Ranks


def told_recipe(ranks: Ranks, make: Callable[[], Recipe]) -> Recipe:
    """The first rank's recipe."""
    return read(ranks.first(lambda: describe(make(), REGISTRY)), Recipe, REGISTRY)


def told_tokenizers(ranks: Ranks, make: Callable[[], tuple[Reader, Tokenizer]]) -> tuple[Reader, Tokenizer]:
    """The first rank's tokenizers, as the files that they are saved in."""
    if ranks.size == 1:
        return make()
    files = ranks.first(lambda: as_files(*make()))
    with TemporaryDirectory() as folder:
        for name, text in files.items():
            (Path(folder) / name).write_text(text, "utf-8")
        return load_tokenizers(Path(folder))


def as_files(source: Reader, target: Tokenizer) -> dict[str, str]:
    with TemporaryDirectory() as folder:
        save_tokenizers(Path(folder), source, target)
        return {path.name: path.read_text("utf-8") for path in Path(folder).iterdir()}
