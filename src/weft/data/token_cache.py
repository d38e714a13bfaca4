"""Tokenized pairs on disk, read through memory maps: opening is instant and memory use is constant, whatever the
number of pairs. The name of a cache folder is a hash of the corpus, the codecs and the filters, so a cache is
never out of date; it is built under a temporary name and renamed when complete.
"""

from __future__ import annotations

import json
import math
import shutil
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from hashlib import blake2b
from itertools import compress
from pathlib import Path
from typing import Any, TypeAlias
from uuid import uuid4

import numpy as np
from numpy.typing import DTypeLike, NDArray

from weft.core.codec import Codec, LineError, RaggedRows, codec_chunk_size
from weft.core.errors import UserError
from weft.core.files import fsync_path, fsync_tree
from weft.core.special_tokens import EOS
from weft.data.checks.pair_problems import ProblemSampler, SampledProblems
from weft.data.corpus import Corpus
from weft.data.data_config import DROP_REASONS, KEPT, DataConfig, PairFilters
from weft.data.hashes import HashArray, hash_lines, hash_pairs, repeated_mask
from weft.data.pair_files import LinePair
from weft.text.shared_spans import replace_shared_spans
from weft.text.tokenizer import is_tokenizer

CACHE_VERSION = 6  # to be increased whenever files or their meaning change
CHUNK_PAIRS = 4096  # pairs tokenized at once
BUILD_SUFFIX = ".building"
STALE_SECONDS = 24 * 3600.0  # a build without a write for this long is considered dead
STATISTICS_FILE = "statistics.json"

ProgressCallback: TypeAlias = Callable[[int], None]  # receives the number of finished pairs


@dataclass(frozen=True)
class SideStatistics:
    """Tokens of one side. With byte fallback, no token is unknown."""

    tokens: int
    unknown_tokens: int
    byte_tokens: int
    has_byte_fallback: bool

    @classmethod
    def from_counts(cls, codec: Codec, tokens: int, counts: NDArray[np.int64]) -> SideStatistics:
        """counts: how often each id occurs [codec.size]; only text has tokens for unknown characters."""
        if not is_tokenizer(codec):
            return cls(tokens, unknown_tokens=0, byte_tokens=0, has_byte_fallback=False)
        unknown_tokens = 0 if codec.unknown_id is None else int(counts[codec.unknown_id])
        return cls(tokens, unknown_tokens, int(counts[list(codec.byte_ids)].sum()), bool(codec.byte_ids))


@dataclass(frozen=True)
class CorpusStatistics:
    """dropped: pairs by reason. source, target: of the pairs kept.

    corpora: pairs kept of each corpus of a mix; in the cache, those of one corpus follow those of the one before.
    """

    pairs_read: int
    dropped: dict[str, int]
    source: SideStatistics
    target: SideStatistics
    corpora: list[int]
    sample: SampledProblems

    @property
    def pairs_kept(self) -> int:
        return self.pairs_read - sum(self.dropped.values())

    @classmethod
    def from_json(cls, value: dict[str, Any]) -> CorpusStatistics:
        sides = SideStatistics(**value["source"]), SideStatistics(**value["target"])
        return cls(value["pairs_read"], value["dropped"], *sides, value["corpora"], SampledProblems(**value["sample"]))


class TokenCache:
    """The pairs of a corpus that the filters keep, as ids without special tokens or as image columns.

    corpus_indices: [N], the index of each pair in its corpus. source_hashes: [N], of the pair keys (Corpus.pair_keys).
    """

    def __init__(self, folder: Path, source: Codec, target: Codec):
        self.folder = folder
        try:
            self.statistics = CorpusStatistics.from_json(json.loads((folder / STATISTICS_FILE).read_text("utf-8")))
            count = self.statistics.pairs_kept
            self.corpus_indices: NDArray[np.int64] = map_array(folder / "indices", np.int64, count)
            self.source_hashes: HashArray = map_array(folder / "hashes", np.uint64, count)
            self._sides = _SideCache(folder, "source", source, count), _SideCache(folder, "target", target, count)
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise UserError(f"{folder}: this cache is damaged ({error}). Delete the folder and start again.") from error

    def __len__(self) -> int:
        return len(self.corpus_indices)

    def row(self, pair: int, side: int) -> NDArray[Any]:
        """Return the source (side 0) or target (side 1) of a pair."""
        return self._sides[side].row(pair)

    def lengths(self, pairs: NDArray[Any]) -> NDArray[np.int64]:
        """Return the numbers of source and target tokens of these pairs [n,2]."""
        return np.stack([side.lengths(pairs) for side in self._sides], axis=1)

    def target_counts(self) -> NDArray[np.int64]:
        """Return how often each id is a training target [V]; EOS once per pair."""
        counts = self._sides[1].counts.copy()
        counts[EOS] += len(self)
        return counts


class _SideCache:
    """One side of the pairs, as _SideWriter wrote it."""

    def __init__(self, folder: Path, side: str, codec: Codec, count: int):
        self._offsets: NDArray[np.int64] = map_array(folder / f"{side}.offsets", np.int64, count + 1)
        size = math.prod(codec.shape, start=int(self._offsets[-1]))
        self.counts: NDArray[np.int64] = map_array(folder / f"{side}.counts", np.int64, codec.size)
        self._ids = map_array(folder / f"{side}.ids", _id_dtype(codec), size).reshape(-1, *codec.shape)

    def row(self, pair: int) -> NDArray[Any]:
        begin, end = self._offsets[pair : pair + 2].tolist()
        return self._ids[begin:end]

    def lengths(self, pairs: NDArray[Any]) -> NDArray[np.int64]:
        lengths: NDArray[np.int64] = self._offsets[pairs + 1] - self._offsets[pairs]
        return lengths


def open_token_cache(
    corpus: Corpus,
    source: Codec,
    target: Codec,
    settings: DataConfig,
    progress: ProgressCallback = lambda _: None,
    *,
    filtered: bool = True,
) -> TokenCache:
    """Open the cache of a corpus; build it if necessary.

    filtered: keep only what the filters of the settings keep, as in training; otherwise all pairs, even empty ones.
    """
    filters = settings.filters(source, target) if filtered else None
    key = [CACHE_VERSION, corpus.fingerprint(), source.fingerprint, target.fingerprint, filters]
    parent = settings.cache_folder()
    folder = parent / ("tokens-" + blake2b(json.dumps(key).encode(), digest_size=16).hexdigest())
    if not folder.exists():
        with cache_write_errors(parent):
            _remove_stale_builds(parent)
            _build(CacheBuilder(corpus, (source, target), filters), folder, progress)
    return TokenCache(folder, source, target)


@contextmanager
def cache_write_errors(folder: Path) -> Iterator[None]:
    """Convert OSError to UserError for a cache folder that cannot be written."""
    try:
        yield
    except OSError as error:
        raise UserError(
            f"{folder}: the cache cannot be written ({error}). Set data.cache to another folder."
        ) from error


def _build(builder: CacheBuilder, folder: Path, progress: ProgressCallback) -> None:
    """Build under another name and rename; if another run was faster, use its cache."""
    unfinished = folder.with_name(f"{folder.name}.{uuid4().hex}{BUILD_SUFFIX}")
    unfinished.mkdir(parents=True)
    try:
        builder.build(unfinished, progress)
        try:
            unfinished.rename(folder)
        except OSError:
            if not folder.exists():
                raise
        else:
            fsync_path(folder.parent)
    finally:
        shutil.rmtree(unfinished, ignore_errors=True)


def _remove_stale_builds(parent: Path) -> None:
    for unfinished in parent.glob("tokens-*" + BUILD_SUFFIX):
        try:
            modified = max(path.stat().st_mtime for path in [unfinished, *unfinished.iterdir()])
        except FileNotFoundError:  # another run has just renamed or deleted it
            continue
        if time.time() - modified > STALE_SECONDS:
            shutil.rmtree(unfinished, ignore_errors=True)


class CacheBuilder:
    """Tokenizes a corpus into a folder. The corpus is read twice; memory holds one byte per pair, never the lines.

    If the tokenizers have tag tokens, these replace the spans that both sides of a pair share.
    """

    def __init__(self, corpus: Corpus, codecs: tuple[Codec, Codec], filters: PairFilters | None):
        self._corpus = corpus
        self._codecs = codecs
        self._filters = filters
        self._has_tags = all(is_tokenizer(codec) and codec.tag_ids for codec in codecs)
        self._chunk_size = codec_chunk_size(codecs[0], CHUNK_PAIRS)

    def build(self, folder: Path, progress: ProgressCallback) -> None:
        """Write ids, offsets and token counts of each side, indices, hashes and statistics into an empty folder."""
        is_repeated = self._find_repeated(folder / "pairs.hashes")
        source, target = _SideWriter(folder, "source", self._codecs[0]), _SideWriter(folder, "target", self._codecs[1])
        verdict_counts = np.zeros(1 + len(DROP_REASONS), np.int64)
        corpus_sizes = [0] * len(self._corpus.names)
        target_only = self._corpus.monolingual or self._corpus.modality == "image"
        sampler = ProblemSampler(len(is_repeated), target_only=target_only)
        for corpus, here, pairs in self._numbered_chunks(len(is_repeated)):
            tagged = list(map(replace_shared_spans, pairs)) if self._has_tags else pairs
            rows = self._encode_source(tagged, here.start), self._codecs[1].encode_rows([line for _, line in tagged])
            verdicts = self._verdicts(pairs, rows, is_repeated[here])
            is_kept = verdicts == KEPT
            source.append(rows[0].select(is_kept))
            target.append(rows[1].select(is_kept))
            append_array(folder / "indices", here.start + np.flatnonzero(is_kept))
            append_array(folder / "hashes", hash_lines(compress(self._corpus.pair_keys(pairs), is_kept)))
            verdict_counts += np.bincount(verdicts, minlength=len(verdict_counts))
            corpus_sizes[corpus] += int(is_kept.sum())
            sampler.add(pairs, here.start)
            progress(here.stop)
        dropped = dict(zip(DROP_REASONS, verdict_counts[1:].tolist(), strict=True))
        statistics = CorpusStatistics(
            len(is_repeated), dropped, source.finish(), target.finish(), corpus_sizes, sampler.summary()
        )
        if statistics.pairs_kept == 0:
            raise UserError(self._all_dropped_message(statistics))
        (folder / STATISTICS_FILE).write_text(json.dumps(asdict(statistics)), encoding="utf-8")
        fsync_tree(folder)

    def _find_repeated(self, path: Path) -> NDArray[np.bool_]:
        """Return whether each pair occurred before [n]. path: a temporary file."""
        count = 0
        for _, pairs in self._corpus.chunks(self._chunk_size):
            keys = self._corpus.pair_keys(pairs)
            append_array(path, hash_pairs(zip(keys, (target for _, target in pairs), strict=True)))
            count += len(pairs)
        is_repeated = repeated_mask(map_array(path, np.uint64, count))
        path.unlink()
        return is_repeated

    def _numbered_chunks(self, count: int) -> Iterator[tuple[int, slice, Sequence[LinePair]]]:
        """Yield chunks with the index of their corpus and their position among all pairs."""
        changed = UserError(f"{self._corpus}: changed while it was read. Start again.")
        done = 0
        for corpus, pairs in self._corpus.chunks(self._chunk_size):
            here = slice(done, done + len(pairs))
            if here.stop > count:
                raise changed
            yield corpus, here, pairs
            done = here.stop
        if done != count:
            raise changed

    def _encode_source(self, pairs: Sequence[LinePair], first: int) -> RaggedRows:
        try:
            return self._codecs[0].encode_rows([line for line, _ in pairs])
        except LineError as error:
            raise UserError(f"{self._corpus.location(first + error.row)}: {error}") from error

    def _verdicts(
        self, pairs: Sequence[LinePair], rows: tuple[RaggedRows, RaggedRows], is_repeated: NDArray[np.bool_]
    ) -> NDArray[np.uint8]:
        if self._filters is None:
            return np.full(len(pairs), KEPT, np.uint8)
        if self._corpus.monolingual:  # filtered as a pair of equal sides
            pairs, rows = [(line, line) for _, line in pairs], (rows[1], rows[1])
        lengths = np.stack([side.lengths for side in rows], axis=1)
        is_blank = np.array([not source.strip() or not target.strip() for source, target in pairs])
        return self._filters.verdicts(lengths, is_blank, is_repeated)

    def _all_dropped_message(self, statistics: CorpusStatistics) -> str:
        counts = ", ".join(f"{count:,} {reason}" for reason, count in statistics.dropped.items() if count)
        causes = {reason: count for reason, count in statistics.dropped.items() if reason != "duplicate"}
        is_text = self._corpus.modality == "text"
        advice = {
            "empty": "Check that the right files (and columns) are named.",
            "too long": "Raise data.max_length, or "
            + ("use a tokenizer with longer tokens." if is_text else "lower text.source.height."),
            "bad ratio": "Check that the lines belong together, or raise data.max_length_ratio.",
        }
        return (
            f"{self._corpus}: no {self._corpus.unit} is left of {statistics.pairs_read:,} ({counts}). "
            f"{advice[max(causes, key=causes.__getitem__)]}"
        )


class _SideWriter:
    """Writes the ids of one side, the offset of each row (the last one is the end), and how often each id occurs."""

    def __init__(self, folder: Path, side: str, codec: Codec):
        self._ids, self._offsets, self._counts = (folder / f"{side}.{what}" for what in ("ids", "offsets", "counts"))
        self._codec = codec
        self._token_counts = np.zeros(codec.size, np.int64)
        self._end = 0
        self.append(RaggedRows(np.zeros(0, np.uint32), np.zeros(1, np.int64)))

    def append(self, rows: RaggedRows) -> None:
        append_array(self._ids, rows.values.astype(_id_dtype(self._codec)))
        append_array(self._offsets, self._end + np.cumsum(rows.lengths))
        self._end += len(rows.values)
        self._token_counts += np.bincount(rows.values.reshape(-1), minlength=len(self._token_counts))

    def finish(self) -> SideStatistics:
        append_array(self._counts, self._token_counts)
        return SideStatistics.from_counts(self._codec, self._end, self._token_counts)


def _id_dtype(codec: Codec) -> np.dtype[Any]:
    """Return the smallest type for ids or gray levels."""
    return np.min_scalar_type(codec.size - 1)


def append_array(path: Path, values: NDArray[Any]) -> None:
    with path.open("ab") as file:
        file.write(values.tobytes())


def map_array(path: Path, dtype: DTypeLike, count: int) -> NDArray[Any]:
    """Map a file of `count` values into memory; raise ValueError if its size differs."""
    size = count * np.dtype(dtype).itemsize
    if path.stat().st_size != size:
        raise ValueError(f"{path.name} has {path.stat().st_size} bytes instead of {size}")
    if count == 0:
        return np.zeros(0, dtype)  # an empty file cannot be mapped
    return np.asarray(np.memmap(path, dtype, "r"))  # slicing a plain array is faster than slicing a memmap
