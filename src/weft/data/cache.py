"""Tokenized pairs on disk, read through memory maps: opening is instant and memory stays flat, however many there are.

A cache is a folder whose name is a hash of all that shaped it (the corpus, the tokenizers, the filters), so it is never
out of date. It is built under another name and then renamed: whatever bears the right name is whole.
"""

from __future__ import annotations

import json
import math
import shutil
import time
from hashlib import blake2b
from pathlib import Path
from typing import Any
from uuid import uuid4

import numpy as np
from numpy.typing import NDArray

from weft.core.errors import UserError
from weft.core.flushing import flush
from weft.core.marks import END
from weft.data.building import Builder, Progress, id_type
from weft.data.columns import mapped
from weft.data.corpus import Corpus
from weft.data.filters import NO_RATIO, Filters
from weft.data.hashes import Hashes
from weft.data.keeping import writing_to
from weft.data.settings import Data
from weft.data.tally import Tally
from weft.text.reader import Reader

FORMAT = 5  # to be raised whenever other files, or the same with another meaning, are written
BUILDING = ".building"
FORGOTTEN = 24 * 3600.0  # seconds without a write, after which a build is taken for dead


class TokenCache:
    """The kept pairs of a corpus as ids without marks, or columns of pictures.

    indices: [N], the number of each kept pair in its corpus, from 0. source_hashes: [N], of the source lines (of
    the lines, where they have no source; of the pictures, where a source names them). tally: what was read and dropped.
    sizes: how many pairs are of each corpus; those of one follow those of the one before.
    """

    def __init__(self, folder: Path, source: Reader, target: Reader):
        self.folder = folder
        try:
            self.tally = Tally.from_json(json.loads((folder / "tally.json").read_text(encoding="utf-8")))
            self.indices: NDArray[np.int64] = mapped(folder / "indices", np.int64, self.tally.kept)
            self.source_hashes: Hashes = mapped(folder / "hashes", np.uint64, self.tally.kept)
            self._source = _Side(folder, "source", source, self.tally.kept)
            self._target = _Side(folder, "target", target, self.tally.kept)
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise UserError(f"{folder}: this cache is damaged ({error}); delete the folder and start again") from error

    def __len__(self) -> int:
        return len(self.indices)

    @property
    def sizes(self) -> list[int]:
        return self.tally.corpora

    def pair(self, number: int) -> tuple[NDArray[Any], NDArray[Any]]:
        """The ids of both sides of the kept pair with this number."""
        return self._source.row(number), self._target.row(number)

    def lengths(self, numbers: NDArray[Any]) -> NDArray[np.int64]:
        """[n,2], tokens of source and target of the kept pairs with these numbers."""
        return np.stack([self._source.lengths(numbers), self._target.lengths(numbers)], axis=1)

    def target_counts(self) -> NDArray[np.int64]:
        """[V], how often each target id is to be said, END once a pair."""
        counts = self._target.uses.copy()
        counts[END] += len(self)
        return counts


class _Side:
    """One side as `SideWriter` wrote it."""

    def __init__(self, folder: Path, side: str, reader: Reader, count: int):
        self._offsets: NDArray[np.int64] = mapped(folder / f"{side}.offsets", np.int64, count + 1)
        numbers = math.prod(reader.shape, start=int(self._offsets[-1]))
        self.uses: NDArray[np.int64] = mapped(folder / f"{side}.uses", np.int64, reader.size)
        self._ids = mapped(folder / f"{side}.ids", id_type(reader), numbers).reshape(-1, *reader.shape)

    def row(self, number: int) -> NDArray[Any]:
        begin, end = self._offsets[number : number + 2].tolist()
        return self._ids[begin:end]

    def lengths(self, numbers: NDArray[Any]) -> NDArray[np.int64]:
        lengths: NDArray[np.int64] = self._offsets[numbers + 1] - self._offsets[numbers]
        return lengths


def build_or_open(
    corpus: Corpus,
    source: Reader,
    target: Reader,
    settings: Data,
    progress: Progress | None = None,
) -> TokenCache:
    """The cache for training, without the pairs that the settings leave out; `progress` hears how many are done."""
    filters = filters_of(settings, source, target)
    return _build_or_open(corpus, (source, target), filters, settings.cache_folder(), progress)


def filters_of(settings: Data, source: Reader, target: Reader) -> Filters:
    """What training leaves out of what these read."""
    comparable = source.reads == target.reads  # a column is no token: the ratio says nothing
    ratio = settings.max_ratio if comparable else NO_RATIO
    return Filters(settings.max_length, ratio, settings.drop_duplicates)


def build_or_open_whole(
    corpus: Corpus,
    source: Reader,
    target: Reader,
    settings: Data,
    progress: Progress | None = None,
) -> TokenCache:
    """The cache for validation and test: nothing is left out, not even an empty line."""
    return _build_or_open(corpus, (source, target), None, settings.cache_folder(), progress)


def _build_or_open(
    corpus: Corpus,
    readers: tuple[Reader, Reader],
    filters: Filters | None,
    parent: Path,
    progress: Progress | None,
) -> TokenCache:
    folder = parent / _key(corpus, readers, filters)
    if not folder.exists():
        builder = Builder(corpus, readers, filters)
        with writing_to(parent):
            _remove_forgotten(parent)
            _build(builder, folder, progress or _unheard)
    return TokenCache(folder, *readers)


def _key(corpus: Corpus, readers: tuple[Reader, Reader], filters: Filters | None) -> str:
    shaped_by = [FORMAT, corpus.fingerprint(), *(reader.fingerprint for reader in readers), filters]
    return "tokens-" + blake2b(json.dumps(shaped_by).encode(), digest_size=16).hexdigest()


def _build(builder: Builder, folder: Path, progress: Progress) -> None:
    """Build beside `folder` and rename; if another run was faster, its cache is as good."""
    unfinished = folder.with_name(f"{folder.name}.{uuid4().hex}{BUILDING}")
    unfinished.mkdir(parents=True)
    try:
        builder.build(unfinished, progress)
        try:
            unfinished.rename(folder)
        except OSError:
            if not folder.exists():
                raise
        else:
            flush(folder.parent)
    finally:
        shutil.rmtree(unfinished, ignore_errors=True)  # gone already, if it was renamed


def _remove_forgotten(parent: Path) -> None:
    """Delete what killed builds have left behind."""
    for unfinished in parent.glob("tokens-*" + BUILDING):
        if time.time() - _last_written(unfinished) > FORGOTTEN:
            shutil.rmtree(unfinished, ignore_errors=True)


def _last_written(folder: Path) -> float:
    try:
        return max(path.stat().st_mtime for path in [folder, *folder.iterdir()])
    except FileNotFoundError:  # another run has just renamed or deleted it
        return time.time()


def _unheard(done: int) -> None:
    """Progress that nobody asked for."""
