"""A cleaned copy of the training files, and a log of every change."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from weft.check.changes import LOG, Changes
from weft.check.encodings import Encodings, find_encodings
from weft.check.inputs import Inputs
from weft.check.judging import Held, Judge
from weft.check.kinds import DEALT_WITH, MENDED
from weft.check.mending import Mender
from weft.check.packing import Sink, open_packed
from weft.check.rows import Files, Row
from weft.check.survey import Surveyor
from weft.core.errors import UserError
from weft.data.kinds import CONTROL, ENCODING, MARK
from weft.data.shards import Shard
from weft.store.new_folders import check_free, new_folder

UNFINISHED = f"{LOG}.unfinished"


class Fixed(NamedTuple):
    """How many pairs are in the copy, in how many of them something changed, and how many are not in it."""

    kept: int
    changed: int
    dropped: int

    def told(self, out: Path) -> str:
        return (
            f"{out}: a copy with {self.kept:,} pairs, {self.changed:,} of them changed; {self.dropped:,} were dropped. "
            f"{out / LOG} tells every change."
        )


class Fixer:
    """Cleans the files of a corpus. kept: the kinds of problems that are left as they are."""

    def __init__(self, files: Files, kept: int, *, one_sided: bool):
        self._files = files
        self._kinds = DEALT_WITH & ~kept
        self._dropped = self._kinds & ~(CONTROL | MARK)  # none of these two is left once a row is mended
        self._one_sided = one_sided

    def fix(self, out: Path, held: Held | None, folder: Path) -> Fixed:
        """Write the copy into the new folder `out`; what is needed meanwhile is in `folder`."""
        encodings = find_encodings(_sides(self._files)) if self._kinds & ENCODING else Encodings({})
        mender = Mender(self._files, self._kinds & MENDED, encodings)
        surveyor = Surveyor(one_sided=self._one_sided, tokens=None, progress=None)
        survey = surveyor.survey((mender.mend(row).after for row in self._files.rows()), folder / "mended")
        found = Judge(survey, held, one_sided=self._one_sided).remaining(folder / "verdicts", self._dropped)
        reasons = found & np.uint32(self._dropped)
        if reasons.all():
            raise UserError(f"{self._files.paths()[0]}: --fix would leave nothing; --keep KIND keeps pairs")
        with new_folder(out) as new:
            fixed = self._write(new, mender, reasons)
            (new / UNFINISHED).rename(new / LOG)  # from now on the copy is whole, also in a folder that was there
        return fixed

    def _write(self, new: Path, mender: Mender, reasons: NDArray[np.uint32]) -> Fixed:
        copy, remaining = _Copy(new, names_in_copy(self._files.paths()), mender), iter(reasons)
        with (new / UNFINISHED).open("wb") as log:
            for shard in self._files.shards:
                copy.write(shard, self._judged(shard, remaining), Changes(log))
        if copy.rows != len(reasons):
            raise self._changed()
        return Fixed(copy.kept, copy.changed, copy.rows - copy.kept)

    def _judged(self, shard: Shard, remaining: Iterator[np.uint32]) -> Iterator[tuple[Row, np.uint32]]:
        """Every row of the shard with what was found in it: one that came later is no row that was looked at."""
        for row in self._files.rows_of(shard):
            reasons = next(remaining, None)
            if reasons is None:
                raise self._changed()
            yield row, reasons

    def _changed(self) -> UserError:
        return UserError(f"{self._files.paths()[0]}: changed while it was read; start again")


class _Copy:
    """Writes the shards of a copy, and counts."""

    def __init__(self, folder: Path, names: dict[Path, str], mender: Mender):
        self._folder = folder
        self._names = names
        self._mender = mender
        self.rows = self.kept = self.changed = 0

    def write(self, shard: Shard, rows: Iterator[tuple[Row, np.uint32]], changes: Changes) -> None:
        """One shard: rows with the reasons why they are left out, 0 for none."""
        changes.decode(shard)
        with ExitStack() as stack:
            files = [stack.enter_context(open_packed(self._folder / self._names[path])) for path in shard.paths]
            for row, reasons in rows:
                self.rows += 1
                if reasons:
                    changes.drop(row, int(reasons))
                else:
                    self._keep(row, files, changes)

    def _keep(self, row: Row, files: Sequence[Sink], changes: Changes) -> None:
        mended = self._mender.mend(row)
        for file, line in zip(files, mended.after.lines, strict=True):
            file.write(f"{line}\n".encode("utf-8", "surrogateescape"))
        self.kept += 1
        self.changed += changes.mend(mended)


def check_fixable(out: Path, inputs: Inputs) -> None:
    """Before any work: can the copy be written?"""
    paths = inputs.splits["train"].paths()
    if inputs.source == "pictures":
        raise UserError("--fix copies text, and these lines name pictures from where they stand: leave --fix out")
    check_free(out, ": give another folder with --fix; nothing is ever written over.", "folder with --fix")
    names = names_in_copy(paths).values()
    if LOG in names:
        raise UserError(f"{LOG} is the name of the log that --fix writes: give that file of yours another name")
    if len(names) < len(paths):
        raise UserError("--fix would write the copy of a file twice, since it is named twice: name each file once")


def names_in_copy(paths: list[Path]) -> dict[Path, str]:
    """The name of each file in the copy: its own, with as much of its folder as tells files apart."""
    whole = {path: path.absolute() for path in paths}
    above = os.path.commonpath([path.parent for path in whole.values()])
    return {path: str(place.relative_to(above)) for path, place in whole.items()}


def _sides(files: Files) -> Iterator[list[Path]]:
    """The files of the sources and of the targets, or those that have both."""
    for side in zip(*(shard.paths for shard in files.shards if len(shard.paths) == 2), strict=True):
        yield [*side]
    yield [shard.paths[0] for shard in files.shards if len(shard.paths) == 1]
