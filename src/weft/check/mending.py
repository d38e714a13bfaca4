"""A row with all that can be mended in it mended."""

from typing import NamedTuple

from weft.check.encodings import Encodings
from weft.check.rows import Files, Row
from weft.data.kinds import ENCODING, MARK
from weft.data.looking import BYTE_ORDER_MARK, mended, signs


class Mended(NamedTuple):
    """A row as it was and as it is now. why: the kinds of problems that it had of those that are mended."""

    before: Row
    after: Row
    why: int


class Mender:
    """Mends the rows of these files. kinds: what is mended. encodings: of lines that are not UTF-8."""

    def __init__(self, files: Files, kinds: int, encodings: Encodings):
        self._files = files
        self._kinds = kinds
        self._encodings = encodings

    def mend(self, before: Row) -> Mended:
        row = self._without_mark(self._decoded(before))
        if row.pair is None:
            return Mended(before, row, 0)
        source, target = row.pair
        why = (before.found | signs(source) | signs(target)) & self._kinds
        pair = mended(source, self._kinds), mended(target, self._kinds)
        return Mended(before, row._replace(lines=self._files.rewritten(row, pair), pair=pair), why)

    def _decoded(self, row: Row) -> Row:
        if not row.found & ENCODING & self._kinds:
            return row
        decoded = self._encodings.decoded
        lines = tuple(decoded(path, line) for path, line in zip(row.shard.paths, row.lines, strict=True))
        return self._files.row(row.shard, row.number, lines, row.found & ~ENCODING)

    def _without_mark(self, row: Row) -> Row:
        """Without those at the start of the files."""
        if not row.found & MARK & self._kinds:
            return row
        lines = tuple(line.removeprefix(BYTE_ORDER_MARK) for line in row.lines)
        return row._replace(lines=lines, found=row.found & ~MARK)
