"""The log of a cleaned copy: a JSON object a line for every change."""

import json
from pathlib import Path
from typing import BinaryIO

from weft.check.mending import Mended
from weft.check.raw_lines import is_utf_16
from weft.check.rows import Row
from weft.data.kinds import names_of
from weft.data.shards import Shard

LOG = "changes.jsonl"


class Changes:
    """Writes it. A byte that is not UTF-8 is half of a surrogate pair there: \\udce9 for 0xE9."""

    def __init__(self, file: BinaryIO):
        self._file = file

    def decode(self, shard: Shard) -> None:
        """Whole files that are written in another encoding: that is told once."""
        for path in filter(is_utf_16, shard.paths):
            self._write(path, None, "encoding", "UTF-16", "UTF-8")

    def drop(self, row: Row, reasons: int) -> None:
        self._write(row.shard.paths[0], row.number, f"dropped: {', '.join(names_of(reasons))}", row.lines, None)

    def mend(self, mended: Mended) -> bool:
        """Each line of the row that has changed; has any?"""
        before, after = mended.before, mended.after
        for path, old, new in zip(before.shard.paths, before.lines, after.lines, strict=True):
            if old != new:
                self._write(path, before.number, ", ".join(names_of(mended.why)), old, new)
        return before.lines != after.lines

    def _write(self, path: Path, line: int | None, what: str, before: object, after: object) -> None:
        entry = {"file": str(path), "line": line, "what": what, "before": before, "after": after}
        self._file.write(json.dumps(entry, ensure_ascii=False).encode("utf-8", "backslashreplace") + b"\n")
