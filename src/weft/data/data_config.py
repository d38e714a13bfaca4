"""The `data` section of a recipe: which files hold the pairs, which pairs are used, and where tokenized data is
cached.
"""

import os
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from weft.core.codec import Codec, Modality
from weft.core.setting_types import PositiveFloat, PositiveInt, Rate
from weft.data.corpus import Corpus, HoldoutSplit
from weft.data.hashes import cached_file_hash

MAX_EXEMPT_LENGTH = 10  # the ratio of pairs whose longer side has at most this many tokens is not checked
UNLIMITED_RATIO = 1e9
DROP_REASONS = ("empty", "duplicate", "too long", "bad ratio")
KEPT = 0  # verdict on a pair; other verdicts are the index of the reason, from 1


class PairFilters(NamedTuple):
    """Decides which pairs are used in training."""

    max_length: int
    max_length_ratio: float
    drop_duplicates: bool

    def verdicts(
        self, lengths: NDArray[np.int64], is_empty: NDArray[np.bool_], is_repeated: NDArray[np.bool_]
    ) -> NDArray[np.uint8]:
        """Return the verdict on each pair [n]: KEPT or the first reason. lengths: tokens of both sides [n,2]."""
        longer, shorter = lengths.max(1), lengths.min(1)
        causes = (
            is_empty | (shorter == 0),
            is_repeated & self.drop_duplicates,
            longer > self.max_length,
            longer > np.maximum(MAX_EXEMPT_LENGTH, self.max_length_ratio * shorter),
        )
        return np.select(causes, np.arange(1, len(causes) + 1, dtype=np.uint8), np.uint8(KEPT))


@dataclass(frozen=True, kw_only=True)
class CorpusConfig:
    """One corpus of a mix.

    files: as in `train`. weight: how often its pairs are used in an epoch; with 0.5, half of them in one epoch and the
    other half in the next.
    """

    files: tuple[str, ...] = ()
    weight: PositiveFloat = 1.0


@dataclass(frozen=True, kw_only=True)
class DataConfig:
    """Where the pairs are and which are used.

    languages: codes of source and target, such as en and pt-BR; equal ones for a task within a language, such as
    spelling correction. Without them, training infers them from the names of the files or from the text; they stay
    empty if it cannot, or if they do not apply.

    folder: base of relative paths. train, valid, test: two parallel text files, or one .tsv, .jsonl, .csv, .parquet,
    .po, .tmx or .xlf; each may end in .gz, .bz2 or .xz. A name with * or ? is a pattern that stands for all matching
    files, sorted. fields: the keys of a .jsonl, the columns of a .csv or .parquet. cache: folder for tokenized data
    (default: $WEFT_CACHE or ~/.cache/weft).

    Training drops a pair if a side is empty, if it is a duplicate (`drop_duplicates`), if a side has more than
    `max_length` tokens, or if the longer side has more than `max_length_ratio` times the tokens of the shorter one. The
    ratio is not checked if the longer side has at most ten tokens ("Ja." for "Yes, I do indeed."), nor for images,
    whose tokens are columns. Validation and test data are never filtered.

    Images (text.source) are named relative to the folder of the file that lists them.

    mix: several corpora with weights, instead of `train`. A pair that is in two of them counts for the first.

    validation_fraction: share of the training pairs that is held out for validation if `valid` names no files.

    monolingual: text without translations, for a language model: train, valid and test are one text file each, and each
    line is the target of an empty source, which is then no reason to drop it.
    """

    languages: tuple[str, ...] = ()
    folder: str = ""
    train: tuple[str, ...] = ()
    mix: tuple[CorpusConfig, ...] = ()
    valid: tuple[str, ...] = ()
    test: tuple[str, ...] = ()
    fields: tuple[str, str] = ("source", "target")
    max_length: PositiveInt = 256
    max_length_ratio: PositiveFloat = 9.0
    drop_duplicates: bool = True
    validation_fraction: Rate = 0.0
    monolingual: bool = False
    cache: str = ""

    def splits(self, modality: Modality = "text") -> dict[str, Corpus]:
        """Return the corpora by name: train, valid, test. modality: of the source."""
        files, holdouts = self.files(), dict[str, HoldoutSplit]()
        if self.validation_fraction and not self.valid:
            files["valid"] = files["train"]
            holdouts = {name: HoldoutSplit(self.validation_fraction, name == "valid") for name in ("train", "valid")}
        return {
            name: Corpus(
                names[0],
                self.fields,
                holdouts.get(name),
                mixed_with=names[1:],
                monolingual=self.monolingual,
                modality=modality,
                hash_function=partial(cached_file_hash, self.cache_folder() / "files"),
            )
            for name, names in files.items()
        }

    def files(self) -> dict[str, list[list[Path]]]:
        """Return the files of each corpus of train, valid and test."""
        train = [corpus.files for corpus in self.mix] or [self.train]
        named = {"train": train, "valid": [self.valid], "test": [self.test]}
        folder = Path(self.folder).expanduser()
        return {
            split: [[folder / Path(name).expanduser() for name in names] for names in corpora]
            for split, corpora in named.items()
            if any(corpora)
        }

    def corpus_weights(self) -> tuple[float, ...]:
        """Return how often each corpus of the training data is used in an epoch."""
        return tuple(corpus.weight for corpus in self.mix) or (1.0,)

    def cache_folder(self) -> Path:
        return Path(self.cache or os.environ.get("WEFT_CACHE") or "~/.cache/weft").expanduser()

    def filters(self, source: Codec, target: Codec) -> PairFilters:
        """Return the filters for training pairs that these codecs encode."""
        ratio = self.max_length_ratio if source.modality == target.modality else UNLIMITED_RATIO
        return PairFilters(self.max_length, ratio, self.drop_duplicates)
