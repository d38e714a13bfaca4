"""The lexical shortlist of a model, learned from pairs of lines."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import islice
from pathlib import Path
from typing import NamedTuple

import numpy as np

from weft.core.errors import UserError
from weft.data.corpus import Corpus
from weft.export.described import Described, read_described
from weft.store.adding import changing
from weft.store.model_folder import recipe_of
from weft.store.shortlist import save_shortlist
from weft.text.lexicon import Pairs, cut, learn_lexicon
from weft.text.shortlist import Shortlist, Size, make_shortlist

LINES = 4096  # tokenized in one call
LINKS = 2**18  # in memory at once, some hundred bytes each
SAMPLE = 1000  # lines of which it is told how many targets they have
ITERATIONS = 5
BOTH, MOST = Size(best=100, frequent=100), 100_000  # if nothing else is said: sizes, and pairs to learn from


class Learned(NamedTuple):
    """shortlist: of so many pairs. mean: how many targets a line has on average, of the `whole`."""

    shortlist: Shortlist
    pairs: int
    mean: float
    whole: int


def learn_shortlist(path: Path, files: Sequence[Path], size: Size, most: int) -> Learned:
    """From the first `most` pairs of the files, or of what the model was trained on; kept in the model folder."""
    with changing(path) as folder:
        described = read_described(folder)
        check_text(described)
        learned = learn_from(described, islice(corpus_of(folder, files).pairs(), most), size)
        save_shortlist(described.folder, learned.shortlist)
    return learned


def learn_from(described: Described, pairs: Iterable[tuple[str, str]], size: Size) -> Learned:
    """What pairs say; nothing is written yet."""
    portions = portions_of(described, pairs)
    if not portions:
        longest = described.config["data"]["max_length"]
        text = f"no pair has pieces on both sides, and at most {longest} of them (data.max_length)"
        raise UserError(f"{text}, so there is nothing to learn: give other files")
    target = described.target
    used = np.bincount(np.concatenate([pairs[1].ids for pairs in portions]), minlength=target.size)
    lexicon = learn_lexicon(portions, target.size, ITERATIONS)
    shortlist = make_shortlist(lexicon, used, described.source_tokenizer, target, size)
    count = sum(len(source.lengths) for source, _ in portions)
    return Learned(shortlist, count, mean_size(shortlist, portions, -(-count // SAMPLE)), target.size)


def mean_size(shortlist: Shortlist, portions: Sequence[Pairs], every: int) -> float:
    """How many targets a line has, of every so many-th one."""
    rows = (row for source, _ in portions for row in source.split())
    return float(np.mean([len(shortlist.of_row(row)) for row in islice(rows, 0, None, every)]))


def check_text(described: Described) -> None:
    """Are there pieces on both sides, and steps that choose among them?"""
    if described.source.reads == "pictures" or described.model["source"]["type"] == "none":
        raise UserError(f"{described.folder}: reads no text, so none of its pieces can say which targets there may be")
    if described.model["decoder"]["type"] == "none":
        raise UserError(f"{described.folder}: has no decoder, whose steps alone a shortlist makes faster")


def corpus_of(path: Path, files: Sequence[Path]) -> Corpus:
    """The files as a corpus; where none are given, the training data."""
    if files:
        return Corpus(files)
    return recipe_of(path).data.splits()["train"]


def portions_of(described: Described, pairs: Iterable[tuple[str, str]]) -> list[Pairs]:
    """The pairs as pieces, some at a time; those with a side that is empty, or too long for training, are left out."""
    portions: list[Pairs] = []
    remaining = iter(pairs)
    longest = described.config["data"]["max_length"]
    while few := list(islice(remaining, LINES)):
        source = described.source_tokenizer.encode_rows([one for one, _ in few])
        target = described.target.encode_rows([other for _, other in few])
        shorter, longer = np.sort([source.lengths, target.lengths], axis=0)
        kept = (shorter > 0) & (longer <= longest)
        portions.extend(cut((source.select(kept), target.select(kept)), LINKS))
    return portions


def render(learned: Learned) -> str:
    """For a person."""
    return (
        f"learned from {learned.pairs:,} pairs: a line has {learned.mean:,.0f} of {learned.whole:,} target pieces on "
        "average. To use it: weft translate --shortlist"
    )
