"""What a tokenizer makes of pairs: how much of them it does not know, and which training would leave out."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from weft.data.filters import REASONS, Filters
from weft.data.kinds import LONG, UNEVEN, UNKNOWN
from weft.data.pairs import Pair
from weft.data.tally import SideTally
from weft.text.reader import Reader
from weft.text.rows import Rows

TOLD = {"too long": LONG, "bad ratio": UNEVEN}  # of the reasons of training; the others are looked for anyway


class Tokens:
    """Counts the tokens of the sides that are text. filters: those of training."""

    def __init__(self, readers: tuple[Reader, Reader], filters: Filters, *, one_sided: bool):
        self._readers = (readers[1], readers[1]) if one_sided else readers
        self._filters = filters
        self._one_sided = one_sided
        self._tokens, self._unknown, self._bytes = (np.zeros(2, np.int64) for _ in range(3))

    def look(self, pairs: Sequence[Pair]) -> NDArray[np.uint32]:
        """[n], what is told of each."""
        if self._one_sided:
            target = self._rows(1, [line for _, line in pairs])
            rows, unknown = (target, target), self._unknowns(1, target)
        else:
            rows = self._rows(0, [line for line, _ in pairs]), self._rows(1, [line for _, line in pairs])
            unknown = self._unknowns(0, rows[0]) | self._unknowns(1, rows[1])
        nothing = np.zeros(len(pairs), np.bool_)
        lengths = np.stack([side.lengths for side in rows], axis=1)
        verdicts = self._filters.verdicts(lengths, nothing, nothing)
        found = np.where(unknown, UNKNOWN, 0)
        for reason, kind in TOLD.items():
            found |= np.where(verdicts == 1 + REASONS.index(reason), kind, 0)
        return found.astype(np.uint32)

    def tallies(self) -> tuple[SideTally, SideTally]:
        return self._tally(0), self._tally(1)

    def _tally(self, side: int) -> SideTally:
        tokens, unknown, single = (int(counts[side]) for counts in (self._tokens, self._unknown, self._bytes))
        return SideTally(tokens, unknown, single, bool(self._readers[side].byte_pieces))

    def _rows(self, side: int, lines: Sequence[str]) -> Rows:
        rows = self._readers[side].encode_rows(lines)
        self._tokens[side] += len(rows.ids)
        self._bytes[side] += np.isin(rows.ids, self._readers[side].byte_pieces).sum()
        return rows

    def _unknowns(self, side: int, rows: Rows) -> NDArray[np.bool_]:
        """[n], does the row have an unknown token?"""
        unknown = self._readers[side].unknown
        here = rows.ids == unknown if unknown is not None else np.zeros(len(rows.ids), np.bool_)
        self._unknown[side] += here.sum()
        row = np.repeat(np.arange(len(rows.lengths)), rows.lengths)
        return np.bincount(row[here], minlength=len(rows.lengths)) > 0
