"""The tokenizers of a run, learned once for the same text and settings: the cache keeps them."""

import json
from contextlib import suppress
from hashlib import blake2b
from pathlib import Path

import tokenizers

from weft.config.reader import describe
from weft.config.recipe import Recipe
from weft.config.registry import REGISTRY
from weft.data.corpus import Corpus
from weft.data.keeping import writing_to
from weft.store.new_folders import TakenError, new_folder
from weft.store.readers import load_tokenizers, save_tokenizers
from weft.text.reader import Reader
from weft.text.settings import learn_tokenizers
from weft.text.tokenizer import Tokenizer
from weft.training.progress import Display

FORMAT = 1  # to be raised whenever the same text and settings give other tokenizers


def tokenizers_for(recipe: Recipe, corpus: Corpus, display: Display) -> tuple[Reader, Tokenizer]:
    """Those that the cache has; otherwise they are learned from the corpus, and kept there."""
    folder = recipe.data.cache_folder() / _key(recipe, corpus)
    if not folder.exists():
        display.say(f"learning tokenizers from {corpus}")
        _keep(folder, *learn_tokenizers(recipe.text, corpus.pairs(), recipe.train.seed))
    return load_tokenizers(folder)


def _key(recipe: Recipe, corpus: Corpus) -> str:
    """A name that depends on all that shapes them."""
    text = describe(recipe.text, REGISTRY)
    shaped_by = [FORMAT, tokenizers.__version__, corpus.fingerprint(), text, recipe.train.seed]
    return "tokenizers-" + blake2b(json.dumps(shaped_by).encode(), digest_size=16).hexdigest()


def _keep(folder: Path, source: Reader, target: Tokenizer) -> None:
    """If another run was faster, its tokenizers are as good."""
    with suppress(TakenError), writing_to(folder.parent), new_folder(folder) as new:
        save_tokenizers(new, source, target)
