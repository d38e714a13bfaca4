"""From files to batches: learn or load tokenizers (cached), tokenize each split, report the data table, and leave
out pairs whose target needs more frames than its source provides (CTC and other frame heads).
"""

import json
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from hashlib import blake2b
from pathlib import Path
from platform import node

import numpy as np
import tokenizers
import torch
from numpy.typing import NDArray

from weft.checkpoints.model_folder import load_tokenizers, model_fingerprint, save_tokenizers
from weft.config.recipe import Recipe
from weft.config.serialization import to_dict
from weft.core.codec import Codec
from weft.core.errors import UserError
from weft.core.files import FolderTakenError, new_folder
from weft.core.lazy import Reiterable
from weft.data.batches import BatchLoader, PairIndices, PairNoise, SideNoise
from weft.data.corpus import Corpus
from weft.data.data_report import DataReport, data_warnings, make_data_report, render_data_report
from weft.data.tag_noise import TagNoise, make_tag_noise
from weft.data.token_cache import TokenCache, cache_write_errors, open_token_cache
from weft.models.model import Model
from weft.text.bpe_dropout import TokenNoise
from weft.text.text_config import source_modality, train_tokenizers, training_noise
from weft.text.tokenizer import Tokenizer
from weft.training.distributed import RankGroup, broadcast_tokenizers
from weft.training.progress import ProgressDisplay

TOKENIZER_CACHE_VERSION = 1  # to be increased whenever the same text and settings give other tokenizers
CHUNK_PAIRS = 4096  # whose targets are checked together
SOURCES_PER_BATCH = 8  # sources of similar length that are encoded together
MAX_EXAMPLES = 3  # locations in a message
TOO_LONG_ADVICE = (
    "These are most pairs, so this model cannot learn them: raise model.frame_head.upsample (frames per source "
    "position), if its type has that; use longer target tokens; or use a model with a decoder."
)


@dataclass(frozen=True)
class TokenizedSplit:
    """The lines and the tokens of train, valid or test."""

    corpus: Corpus
    cache: TokenCache


@dataclass(frozen=True)
class PreparedData:
    """The tokenizers and the tokenized data of a run. fingerprints: of the files it reads, by place in the recipe."""

    source: Codec
    target: Tokenizer
    train: TokenizedSplit
    valid: TokenizedSplit | None
    noise: tuple[TokenNoise | None, TokenNoise | None]
    tag_noise: TagNoise | None
    report: DataReport
    fingerprints: dict[str, str]


def prepare_data(
    recipe: Recipe, tokenizers: tuple[Codec, Tokenizer] | None, display: ProgressDisplay, ranks: RankGroup
) -> PreparedData:
    """Read the files, learn tokenizers unless they are passed, tokenize, and print the data table.

    Rank 0 learns the tokenizers; the first rank of each machine tokenizes. Raise UserError if a machine's files differ
    from rank 0's.
    """
    corpora = recipe.data.splits(source_modality(recipe.text))
    if tokenizers is None:
        tokenizers = broadcast_tokenizers(ranks, lambda: load_or_train_tokenizers(recipe, corpora["train"], display))
    with ranks.local_main_first():
        caches = {}
        for name, corpus in corpora.items():  # only training data is filtered
            progress = partial(display.progress, f"tokenizing {name}")
            caches[name] = open_token_cache(corpus, *tokenizers, recipe.data, progress, filtered=name == "train")
        tag_noise = make_tag_noise(caches["train"], tokenizers, display.print)
    report = make_data_report(caches["train"], {name: cache for name, cache in caches.items() if name != "train"})
    display.print("\n".join([render_data_report(report), *data_warnings(caches["train"].statistics.sample)]))
    fingerprints = {f"data.{name}": corpus.fingerprint() for name, corpus in corpora.items()}
    objective = to_dict(recipe.objective)
    if objective["type"] == "distillation":
        fingerprints["objective.teacher"] = model_fingerprint(Path(objective["teacher"]).expanduser())
    main = ranks.on_main(lambda: fingerprints)
    for place, value in fingerprints.items():
        if main[place] != value:
            raise UserError(f"{place}: the files on {node()} differ from those on the machine of rank 0: copy them")
    return PreparedData(
        source=tokenizers[0],
        target=tokenizers[1],
        train=TokenizedSplit(corpora["train"], caches["train"]),
        valid=TokenizedSplit(corpora["valid"], caches["valid"]) if "valid" in caches else None,
        noise=training_noise(recipe.text, tokenizers),
        tag_noise=tag_noise,
        report=report,
        fingerprints=fingerprints,
    )


def load_or_train_tokenizers(recipe: Recipe, corpus: Corpus, display: ProgressDisplay) -> tuple[Codec, Tokenizer]:
    """Return the tokenizers from the cache, or learn them from the corpus and cache them."""
    text = to_dict(recipe.text)
    inputs = [TOKENIZER_CACHE_VERSION, tokenizers.__version__, corpus.fingerprint(), text, recipe.train.seed]
    key = blake2b(json.dumps(inputs).encode(), digest_size=16).hexdigest()
    folder = recipe.data.cache_folder() / f"tokenizers-{key}"
    if not folder.exists():
        display.print(f"learning tokenizers from {corpus}")
        pairs = Reiterable(lambda: display.track(corpus.pairs(), "reading pairs for the tokenizers", None))
        learned = train_tokenizers(recipe.text, pairs, recipe.train.seed)
        # If another run has been faster, its tokenizers are the same.
        with suppress(FolderTakenError), cache_write_errors(folder.parent), new_folder(folder) as new:
            save_tokenizers(new, *learned)
    return load_tokenizers(folder)


def make_batches(
    recipe: Recipe,
    name: str,
    split: TokenizedSplit,
    model: Model,
    display: ProgressDisplay,
    ranks: RankGroup,
    *,
    noise: SideNoise | None = None,
    pair_noise: PairNoise | None = None,
    weights: Sequence[float] = (1.0,),
) -> BatchLoader:
    """Return the batches of a split, without pairs whose targets do not fit into the frames of the model."""
    settings = recipe.train
    make = partial(BatchLoader, split.cache, settings.batch_tokens, settings.seed, max_length=recipe.data.max_length)
    excluded = targets_exceeding_frames(model, name, split, make(), display)
    shard = ranks.rank, ranks.world_size
    return make(noise=noise, pair_noise=pair_noise, weights=weights, shard=shard, excluded=excluded)


def targets_exceeding_frames(
    model: Model, name: str, split: TokenizedSplit, batches: BatchLoader, display: ProgressDisplay
) -> PairIndices:
    """Return the pairs, by index in the cache, whose targets need more frames than their sources provide.

    Prints some of them; raises UserError if they are most pairs.
    """
    if model.frame_head is None:
        return np.zeros(0, np.int64)
    frames = frames_by_length(model, split, batches)
    places: list[str] = []
    too_long = [np.zeros(0, np.int64)]
    for indices in _index_chunks(len(split.cache)):
        needed = model.frame_head.required_frames(batches.targets(indices)).numpy()
        provided = frames[split.cache.lengths(indices)[:, 0]]
        for row in np.flatnonzero(needed > provided)[: MAX_EXAMPLES - len(places)]:
            place = split.corpus.location(int(split.cache.corpus_indices[indices[row]]))
            places.append(f"{place} (it needs {needed[row]} and has {provided[row]})")
        too_long.append(indices[needed > provided])
    excluded = np.concatenate(too_long)
    if len(excluded):
        message = (
            f"{len(excluded):,} of {len(split.cache):,} pairs of {name} have targets that need more frames than their "
            f"sources provide, such as {'; '.join(places)}."
        )
        if 2 * len(excluded) > len(split.cache):
            raise UserError(f"{message}\n{TOO_LONG_ADVICE}")
        display.print(f"{message} They are left out.")
    return excluded


@torch.no_grad()
def frames_by_length(model: Model, split: TokenizedSplit, batches: BatchLoader) -> NDArray[np.int64]:
    """Return the number of frames for each source length, by encoding one source of each length."""
    examples: dict[int, int] = {}
    for indices in _index_chunks(len(split.cache)):
        lengths, rows = np.unique(split.cache.lengths(indices)[:, 0], return_index=True)
        examples = dict(zip(lengths.tolist(), indices[rows].tolist(), strict=True)) | examples
    device = next(model.parameters()).device
    frames, ordered = np.zeros(max(examples) + 1, np.int64), sorted(examples)
    for first in range(0, len(ordered), SOURCES_PER_BATCH):
        group = ordered[first : first + SOURCES_PER_BATCH]
        source = batches.make_batch(np.array([examples[length] for length in group])).source.to(device)
        frames[group] = model.frames(source).mask.sum(1).cpu().numpy()
    return frames


def _index_chunks(count: int) -> Iterator[PairIndices]:
    for first in range(0, count, CHUNK_PAIRS):
        yield np.arange(first, min(first + CHUNK_PAIRS, count))
