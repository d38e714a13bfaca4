"""Learns a lexical shortlist for a model from sentence pairs with IBM model 1, and adds it to the model folder."""

from collections.abc import Iterable, Sequence
from itertools import islice
from pathlib import Path
from typing import NamedTuple

import numpy as np

from weft.checkpoints.model_folder import ModelFolder, lock_model_folder, read_model_folder, save_shortlist
from weft.checkpoints.run_origin import locate_data
from weft.checkpoints.trained_model import load_model_config
from weft.core.errors import UserError
from weft.data.corpus import Corpus
from weft.text.ibm1 import RaggedPairs, split_by_links, train_ibm1
from weft.text.lexical_shortlist import Shortlist, ShortlistSize, build_shortlist
from weft.text.shared_spans import replace_shared_spans

LINES_PER_CALL = 4096  # tokenized in one call
LINKS_PER_PORTION = 2**18  # in memory at once, about a hundred bytes each
SAMPLED_LINES = 1000  # for the mean list size
IBM1_ITERATIONS = 5
DEFAULT_SHORTLIST_SIZE = ShortlistSize(best=100, frequent=100)
DEFAULT_MAX_PAIRS = 100_000


class ShortlistReport(NamedTuple):
    """A shortlist, the number of pairs it was learned from, its mean size for a line, and that of the vocabulary."""

    shortlist: Shortlist
    pairs: int
    mean_size: float
    vocabulary_size: int

    def __str__(self) -> str:
        return (
            f"learned from {self.pairs:,} pairs: a line has {self.mean_size:,.0f} of {self.vocabulary_size:,} target "
            "tokens on average. To use it: weft translate --shortlist"
        )


def train_shortlist(path: Path, files: Sequence[Path], size: ShortlistSize, max_pairs: int) -> ShortlistReport:
    """Learn a shortlist from the first pairs of the files (default: the training data), and add it to the model."""
    with lock_model_folder(path) as folder:
        model = read_model_folder(folder)
        if model.source.modality != "text" or model.slots["source"]["type"] == "none":
            raise UserError(f"{model.path}: reads no text, so there are no source tokens for a shortlist")
        if model.slots["decoder"]["type"] == "none":
            raise UserError(f"{model.path}: has no decoder, whose output layer a shortlist restricts")
        corpus = Corpus(files) if files else locate_data(folder, load_model_config(folder).data).splits()["train"]
        report = _learn_shortlist(model, islice(corpus.pairs(), max_pairs), size)
        save_shortlist(model.path, report.shortlist)
    return report


def _learn_shortlist(model: ModelFolder, pairs: Iterable[tuple[str, str]], size: ShortlistSize) -> ShortlistReport:
    portions = _encode_portions(model, pairs)
    if not portions:
        longest = model.config["data"]["max_length"]
        problem = f"no pair has tokens on both sides, and at most {longest} of them (data.max_length)"
        raise UserError(f"{problem}, so there is nothing to learn: give other files")
    target = model.target
    counts = np.bincount(np.concatenate([targets.values for _, targets in portions]), minlength=target.size)
    table = train_ibm1(portions, target.size, IBM1_ITERATIONS)
    shortlist = build_shortlist(table, counts, model.source_tokenizer, target, size)
    count = sum(len(source.lengths) for source, _ in portions)
    rows = (row for source, _ in portions for row in source.split())
    sampled = islice(rows, 0, None, -(-count // SAMPLED_LINES))
    mean_size = float(np.mean([len(shortlist.for_row(row)) for row in sampled]))
    return ShortlistReport(shortlist, count, mean_size, target.size)


def _encode_portions(model: ModelFolder, pairs: Iterable[tuple[str, str]]) -> list[RaggedPairs]:
    """Encode pairs in portions of limited size; those with an empty or too long side are dropped."""
    portions: list[RaggedPairs] = []
    remaining = iter(pairs)
    longest = model.config["data"]["max_length"]
    while few := list(islice(remaining, LINES_PER_CALL)):
        if model.target.tag_ids:  # as in training, tags replace the spans that both sides share
            few = list(map(replace_shared_spans, few))
        source = model.source_tokenizer.encode_rows([source for source, _ in few])
        target = model.target.encode_rows([target for _, target in few])
        shorter, longer = np.sort([source.lengths, target.lengths], axis=0)
        usable = (shorter > 0) & (longer <= longest)
        portions.extend(split_by_links((source.select(usable), target.select(usable)), LINKS_PER_PORTION))
    return portions
