"""Writes the files of a token cache: the corpus is read twice; memory holds a few numbers a pair, never the lines."""

import json
import os
from collections.abc import Callable, Iterator, Sequence
from itertools import chain, islice
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from weft.core.errors import UserError
from weft.data.corpus import Corpus
from weft.data.filters import KEPT, REASONS, Filters
from weft.data.hashes import came_before, hash_lines, hash_pairs
from weft.data.tally import SideTally, Tally
from weft.text.tokenizer import Tokenizer

CHUNK = 4096  # pairs tokenized in one call

Pairs: TypeAlias = Sequence[tuple[str, str]]
Progress: TypeAlias = Callable[[int], None]  # told how many pairs are done


class Builder:
    """Tokenizes a corpus into a folder; without filters every pair is kept."""

    def __init__(self, corpus: Corpus, tokenizers: tuple[Tokenizer, Tokenizer], filters: Filters | None):
        self._corpus = corpus
        self._tokenizers = tokenizers
        self._filters = filters

    def build(self, folder: Path, progress: Progress) -> None:
        """Fill an empty folder with source.ids, target.ids, offsets, indices, hashes and tally."""
        hashes, repeated = self._read_hashes()
        source_tokenizer, target_tokenizer = self._tokenizers
        source = SideWriter(folder / "source.ids", source_tokenizer)
        target = SideWriter(folder / "target.ids", target_tokenizer)
        verdicts = np.zeros(len(hashes), np.uint8)
        for here, pairs in self._numbered_chunks(len(hashes)):
            rows = source.encode([line for line, _ in pairs]), target.encode([line for _, line in pairs])
            verdicts[here] = self._verdicts(pairs, rows, repeated[here])
            kept = np.flatnonzero(verdicts[here] == KEPT)
            source.append([rows[0][place] for place in kept])
            target.append([rows[1][place] for place in kept])
            progress(here.stop)
        tally = Tally(len(hashes), _dropped(verdicts), source.tally(), target.tally())
        if tally.kept == 0:
            raise UserError(self._all_dropped(tally))
        kept = np.flatnonzero(verdicts == KEPT)
        _save(folder / "indices.npy", kept)
        _save(folder / "hashes.npy", hashes[kept])
        _save(folder / "offsets.npy", np.stack([source.offsets(), target.offsets()], axis=1))
        (folder / "tally.json").write_text(json.dumps(tally.to_json()), encoding="utf-8")
        _flush(folder)

    def _read_hashes(self) -> tuple[NDArray[np.uint64], NDArray[np.bool_]]:
        """[n] of the sources, and [n] whether the whole pair came before."""
        sources, pairs = [], []
        for chunk in _chunks(self._corpus.pairs()):
            sources.append(hash_lines(source for source, _ in chunk))
            pairs.append(hash_pairs(sources[-1], hash_lines(target for _, target in chunk)))
        return np.concatenate(sources), came_before(np.concatenate(pairs))

    def _numbered_chunks(self, count: int) -> Iterator[tuple[slice, Pairs]]:
        """Chunks with their places among the `count` pairs that the first reading found."""
        changed = UserError(f"{self._corpus}: changed while it was read; start again")
        done = 0
        for pairs in _chunks(self._corpus.pairs()):
            here = slice(done, done + len(pairs))
            if here.stop > count:
                raise changed
            yield here, pairs
            done = here.stop
        if done != count:
            raise changed

    def _verdicts(
        self, pairs: Pairs, rows: tuple[list[list[int]], list[list[int]]], repeated: NDArray[np.bool_]
    ) -> NDArray[np.uint8]:
        if self._filters is None:
            return np.full(len(pairs), KEPT, np.uint8)
        lengths = np.array([[len(row) for row in side] for side in rows]).T
        blank = np.array([not source.strip() or not target.strip() for source, target in pairs])
        return self._filters.verdicts(lengths, blank, repeated)

    def _all_dropped(self, tally: Tally) -> str:
        counts = ", ".join(f"{count:,} {reason}" for reason, count in tally.dropped.items() if count)
        most = max(tally.dropped, key=tally.dropped.__getitem__)
        advice = {
            "empty": "look whether the right files (and columns) are named",
            "duplicate": "set data.drop_duplicates to false",
            "too long": "raise data.max_length, or take a tokenizer with longer pieces",
            "bad ratio": "look whether the lines belong together, or raise data.max_ratio",
        }
        return f"{self._corpus}: no pair is left of {tally.read:,} ({counts}); {advice[most]}"


class SideWriter:
    """Appends the ids of one side to a file, and counts them."""

    def __init__(self, path: Path, tokenizer: Tokenizer):
        self._path = path
        self._tokenizer = tokenizer
        self._type = id_type(tokenizer)
        self._lengths: list[NDArray[np.int64]] = [np.zeros(1, np.int64)]
        self._uses = np.zeros(tokenizer.size, np.int64)
        path.touch()

    def encode(self, lines: Sequence[str]) -> list[list[int]]:
        return self._tokenizer.encode(lines)

    def append(self, rows: Sequence[Sequence[int]]) -> None:
        ids = np.fromiter(chain.from_iterable(rows), self._type)
        with self._path.open("ab") as file:
            file.write(ids.tobytes())
        self._lengths.append(np.array([len(row) for row in rows], np.int64))
        self._uses += np.bincount(ids, minlength=len(self._uses))

    def offsets(self) -> NDArray[np.int64]:
        """[n+1], where each row begins; the last is the end of the last row."""
        return np.cumsum(np.concatenate(self._lengths))

    def tally(self) -> SideTally:
        unknown = self._tokenizer.unknown
        byte_pieces = list(self._tokenizer.byte_pieces)
        return SideTally(
            tokens=int(self._uses.sum()),
            unknown=0 if unknown is None else int(self._uses[unknown]),
            bytes=int(self._uses[byte_pieces].sum()) if byte_pieces else 0,
            has_bytes=bool(byte_pieces),
        )


def id_type(tokenizer: Tokenizer) -> np.dtype[Any]:
    """The smallest type that holds every id."""
    return np.dtype(np.uint16 if tokenizer.size <= 2**16 else np.uint32)


def _chunks(pairs: Iterator[tuple[str, str]]) -> Iterator[Pairs]:
    while chunk := list(islice(pairs, CHUNK)):
        yield chunk


def _dropped(verdicts: NDArray[np.uint8]) -> dict[str, int]:
    counts = np.bincount(verdicts, minlength=len(REASONS) + 1)[1:]
    return {reason: int(count) for reason, count in zip(REASONS, counts, strict=True)}


def _save(path: Path, array: NDArray[Any]) -> None:
    np.save(path, array, allow_pickle=False)


def _flush(folder: Path) -> None:
    """Wait until the files are on the disk: a cache that has its name must hold its content, even after a power cut."""
    for path in folder.iterdir():
        with path.open("rb") as file:
            os.fsync(file.fileno())
