"""The data of a fine-tuning run: new pairs, and those that the model was trained on, its home."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np

from weft.choosing.rules import FEW, HELD_OUT
from weft.config.recipe import Recipe
from weft.core.errors import UserError
from weft.data.corpus import Corpus
from weft.data.part import Part
from weft.data.settings import Data
from weft.data.shards import is_table
from weft.store.runs import run_of
from weft.text.reader import Reader
from weft.text.settings import draw_sample, reads
from weft.training.folder import RunFolder

SAMPLE = 2000  # pairs whose tokens are counted
SEED = 1


@dataclass(frozen=True)
class Home:
    """What the model was trained and validated on. told: what is wrong with it, if it is."""

    train: Corpus | None
    valid: Corpus | None
    told: str | None


class New(NamedTuple):
    """What is to be learned: the pairs in files, and their number. held_out: the share kept for validation.

    valid: what it is validated on, if there is anything.
    """

    files: tuple[str, ...]
    corpus: Corpus
    pairs: int
    held_out: float
    valid: Corpus | None


def home_of(folder: Path, recipe: Recipe) -> Home:
    """The old data, where it was, as it is now."""
    try:
        corpora = recipe.data.splits(reads(recipe.text))
        found = {f"data.{name}": corpora[name].fingerprint() for name in ("train", "valid") if name in corpora}
    except UserError as error:
        return Home(None, None, f"the data that {folder} was trained on cannot be read: {error}")
    before = fingerprints(folder)
    changed = [place for place, value in found.items() if before.get(place, value) != value]
    told = f"the files of {changed[0]} have changed since {folder} was trained" if changed else None
    return Home(corpora["train"], corpora.get("valid"), told)


def fingerprints(folder: Path) -> dict[str, str]:
    """Of the data as it was, if the folder is that of a run, or in one, which still tells."""
    run = run_of(folder)
    try:
        return {} if run is None else RunFolder(run).facts().fingerprints
    except UserError:
        return {}


def new_data(files: Sequence[str], recipe: Recipe, settings: Data, place: Path) -> New:
    """What a person gave. settings: the data section with what was set otherwise. place: the model's folder."""
    one_sided, kind = recipe.data.one_sided, reads(recipe.text)
    wanted = 1 if one_sided or (len(files) == 1 and is_table(files[0])) else 2
    if len(files) != wanted:
        kinds = "one text file" if one_sided else "two text files, one .tsv or one .jsonl"
        raise UserError(f"got {', '.join(files) or 'no data'}, but {place} learns from {kinds}")
    corpus = Corpus(files, settings.fields, one_sided=one_sided, source=kind)
    count = sum(1 for _ in corpus.pairs())
    if settings.valid:
        return New(tuple(files), corpus, count, 0.0, settings.splits(kind)["valid"])
    share = settings.hold_out or (float(f"{min(0.1, HELD_OUT / count):.2g}") if count >= FEW else 0.0)
    part = Part(share, held_out=True)
    valid = Corpus(files, settings.fields, part, one_sided=one_sided, source=kind) if share else None
    return New(tuple(files), corpus, count, share, valid)


class Member(NamedTuple):
    """Old pairs to be mixed in. written: whether they have to be written into files of their own."""

    corpus: Corpus
    times: float
    written: bool


def members(home: Home, recipe: Recipe, new: New, mix: float, fields: tuple[str, str]) -> list[Member]:
    """The old corpora, so often that `mix` old pairs come for every new one.

    fields: of the new recipe. What a hold-out or other fields keep apart, no setting of files can name.
    """
    if home.train is None:
        raise UserError(f"{home.told}. Put it back, or leave out --mix")
    old, files = recipe.data, recipe.data.files()["train"]
    other = fields != old.fields and any(str(path).endswith(".jsonl") for paths in files for path in paths)
    written = home.train.part is not None or other
    corpora = [
        Corpus(paths, old.fields, home.train.part, one_sided=old.one_sided, source=reads(recipe.text))
        for paths in files
    ]
    used = sum(often * sum(1 for _ in corpus.pairs()) for often, corpus in zip(old.times(), corpora, strict=True))
    times = [often * mix * new.pairs * (1 - new.held_out) / used for often in old.times()]
    return [Member(corpus, often, written) for corpus, often in zip(corpora, times, strict=True)]


def mean_length(pairs: Iterable[tuple[str, str]], readers: Sequence[Reader]) -> float:
    """Tokens of the longer side of a pair, END counted, in the mean over some of them."""
    sample = draw_sample(pairs, SAMPLE, SEED)
    sides = [reader.encode_rows([pair[side] for pair in sample]).lengths for side, reader in enumerate(readers)]
    return float(np.maximum(*sides).mean()) + 1
