"""Writes the files of a token cache: the corpus is read twice; memory holds a byte a pair, never the lines."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from itertools import compress
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from weft.core.errors import UserError
from weft.core.flushing import flush_tree
from weft.data.columns import append, mapped
from weft.data.corpus import Corpus
from weft.data.filters import KEPT, REASONS, Filters
from weft.data.hashes import came_before, hash_lines, hash_pairs
from weft.data.sampled_look import SampledLook
from weft.data.tally import SideTally, Tally
from weft.text.reader import LineError, Reader, at_once
from weft.text.rows import Rows

CHUNK = 4096  # pairs tokenized in one call

Pairs: TypeAlias = Sequence[tuple[str, str]]
Progress: TypeAlias = Callable[[int], None]  # told how many pairs are done


class Builder:
    """Tokenizes a corpus into a folder; without filters every pair is kept."""

    def __init__(self, corpus: Corpus, readers: tuple[Reader, Reader], filters: Filters | None):
        self._corpus = corpus
        self._readers = readers
        self._filters = filters
        self._chunk = at_once(readers[0], CHUNK)

    def build(self, folder: Path, progress: Progress) -> None:
        """Fill an empty folder with the ids, offsets and uses of each side, indices, hashes and tally."""
        repeated = self._find_repeated(folder / "pairs.hashes")
        source, target = (
            SideWriter(folder, side, reader) for side, reader in zip(("source", "target"), self._readers, strict=True)
        )
        counts = np.zeros(1 + len(REASONS), np.int64)  # of each verdict
        corpora = [0] * len(self._corpus.names)
        one_sided = self._corpus.one_sided or self._corpus.source == "pictures"
        sampled = SampledLook(len(repeated), one_sided=one_sided)
        for corpus, here, pairs in self._numbered_chunks(len(repeated)):
            rows = self._source_rows(source, pairs, here.start), target.encode([line for _, line in pairs])
            verdicts = self._verdicts(pairs, rows, repeated[here])
            kept = verdicts == KEPT
            source.append(rows[0].select(kept))
            target.append(rows[1].select(kept))
            append(folder / "indices", here.start + np.flatnonzero(kept))
            append(folder / "hashes", hash_lines(compress(self._corpus.telling(pairs), kept)))
            counts += np.bincount(verdicts, minlength=len(counts))
            corpora[corpus] += int(kept.sum())
            sampled.add(pairs, here.start)
            progress(here.stop)
        dropped = dict(zip(REASONS, counts[1:].tolist(), strict=True))
        tally = Tally(len(repeated), dropped, source.tally(), target.tally(), corpora, sampled.looked())
        if tally.kept == 0:
            raise UserError(self._all_dropped(tally))
        source.write_uses()
        target.write_uses()
        (folder / "tally.json").write_text(json.dumps(tally.to_json()), encoding="utf-8")
        flush_tree(folder)  # what has the name of a cache must hold its content

    def _find_repeated(self, path: Path) -> NDArray[np.bool_]:
        """[n], whether each pair came before; the file is needed only meanwhile."""
        count = 0
        for _, pairs in self._corpus.chunks(self._chunk):
            append(path, hash_pairs(zip(self._corpus.telling(pairs), (target for _, target in pairs), strict=True)))
            count += len(pairs)
        repeated = came_before(mapped(path, np.uint64, count))
        path.unlink()
        return repeated

    def _numbered_chunks(self, count: int) -> Iterator[tuple[int, slice, Pairs]]:
        """Chunks with their corpus and their places among the `count` pairs that the first reading found."""
        changed = UserError(f"{self._corpus}: changed while it was read; start again")
        done = 0
        for corpus, pairs in self._corpus.chunks(self._chunk):
            here = slice(done, done + len(pairs))
            if here.stop > count:
                raise changed
            yield corpus, here, pairs
            done = here.stop
        if done != count:
            raise changed

    def _source_rows(self, source: SideWriter, pairs: Pairs, first: int) -> Rows:
        """The rows of the source; where a line cannot be read, its number in the file is told."""
        try:
            return source.encode([line for line, _ in pairs])
        except LineError as error:
            raise UserError(f"{self._corpus.place(first + error.row)}: {error}") from error

    def _verdicts(self, pairs: Pairs, rows: tuple[Rows, Rows], repeated: NDArray[np.bool_]) -> NDArray[np.uint8]:
        if self._filters is None:
            return np.full(len(pairs), KEPT, np.uint8)
        if self._corpus.one_sided:  # a line is judged as if it were paired with itself
            pairs, rows = [(line, line) for _, line in pairs], (rows[1], rows[1])
        lengths = np.stack([side.lengths for side in rows], axis=1)
        blank = np.array([not source.strip() or not target.strip() for source, target in pairs])
        return self._filters.verdicts(lengths, blank, repeated)

    def _all_dropped(self, tally: Tally) -> str:
        counts = ", ".join(f"{count:,} {reason}" for reason, count in tally.dropped.items() if count)
        first_causes = {reason: count for reason, count in tally.dropped.items() if reason != "duplicate"}
        most = max(first_causes, key=first_causes.__getitem__)  # for which the first of the duplicates was dropped too
        shorter = "take a tokenizer with longer pieces" if self._corpus.source == "text" else "lower text.source.height"
        advice = {
            "empty": "look whether the right files (and columns) are named",
            "too long": f"raise data.max_length, or {shorter}",
            "bad ratio": "look whether the lines belong together, or raise data.max_ratio",
        }
        return f"{self._corpus}: no {self._corpus.unit} is left of {tally.read:,} ({counts}); {advice[most]}"


class SideWriter:
    """Writes the ids of one side, where each row begins, and how often each id is used; the last offset is the end of
    the last row.
    """

    def __init__(self, folder: Path, side: str, reader: Reader):
        self._ids, self._offsets, self._counts = (folder / f"{side}.{what}" for what in ("ids", "offsets", "uses"))
        self._reader = reader
        self._uses = np.zeros(reader.size, np.int64)
        self._end = 0
        self.append(Rows(np.zeros(0, np.uint32), np.zeros(1, np.int64)))

    def encode(self, lines: Sequence[str]) -> Rows:
        return self._reader.encode_rows(lines)

    def append(self, rows: Rows) -> None:
        append(self._ids, rows.ids.astype(id_type(self._reader)))
        append(self._offsets, self._end + np.cumsum(rows.lengths))
        self._end += len(rows.ids)
        self._uses += np.bincount(rows.ids.reshape(-1), minlength=len(self._uses))

    def write_uses(self) -> None:
        append(self._counts, self._uses)

    def tally(self) -> SideTally:
        unknown = self._reader.unknown
        byte_pieces = list(self._reader.byte_pieces)
        return SideTally(
            tokens=self._end,
            unknown=0 if unknown is None else int(self._uses[unknown]),
            bytes=int(self._uses[byte_pieces].sum()) if byte_pieces else 0,
            has_bytes=bool(byte_pieces),
        )


def id_type(reader: Reader) -> np.dtype[Any]:
    """The smallest type that holds every id, or every grey level."""
    return np.min_scalar_type(reader.size - 1)
