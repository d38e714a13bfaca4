"""Writes a cleaned copy of the training files (repairs encodings, control characters and mojibake, drops bad
pairs) and a log of every change.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from functools import reduce
from operator import or_
from pathlib import Path
from typing import BinaryIO, NamedTuple

import numpy as np
from numpy.typing import NDArray

from weft.core.errors import UserError
from weft.core.files import check_new_folder, new_folder
from weft.data.checks.corpus_rows import CorpusFiles, CorpusRow
from weft.data.checks.encodings import decode_line, detect_encodings, is_utf16, is_valid_unicode
from weft.data.checks.outliers import ProblemDetector
from weft.data.checks.pair_features import extract_features
from weft.data.checks.pair_problems import BOM_CHARACTER, find_character_problems, repair_line
from weft.data.checks.problem_kinds import FIXABLE, REPAIRABLE, Problem, problem_names
from weft.data.checks.quality_check import TRAIN_SPLIT, CheckInputs, CheckResult
from weft.data.pair_files import Shard
from weft.data.text_files import open_compressed

CHANGE_LOG = "changes.jsonl"
NEVER_DROPPED = Problem.CONTROL_CHARACTERS | Problem.BYTE_ORDER_MARK  # repaired instead, unless ignored
PARTIAL_LOG = f"{CHANGE_LOG}.unfinished"


class CleaningResult(NamedTuple):
    """kept: pairs in the copy. changed: those of them that were repaired. dropped: pairs left out."""

    kept: int
    changed: int
    dropped: int

    def summary(self, out: Path) -> str:
        return (
            f"{out}: a copy with {self.kept:,} pairs, {self.changed:,} of them changed; {self.dropped:,} were dropped. "
            f"All changes are listed in {out / CHANGE_LOG}."
        )


def check_cleaning_output(out: Path, inputs: CheckInputs) -> None:
    """Raise UserError, before any work is done, if the copy cannot be written."""
    paths = inputs.splits[TRAIN_SPLIT].paths()
    if inputs.modality == "image":
        raise UserError("--fix copies text, but these files name images relative to their folder. Omit --fix.")
    records = next((shard for shard in inputs.splits[TRAIN_SPLIT].shards if shard.records is not None), None)
    if records is not None:
        raise UserError(
            f"{records.paths[0]}: --fix copies files of lines. Omit --fix, or convert the file to .tsv or .jsonl first."
        )
    check_new_folder(
        out, ": give another folder with --fix; existing files are never overwritten.", "folder with --fix"
    )
    names = list(copied_file_names(paths).values())
    if CHANGE_LOG in names or PARTIAL_LOG in names:
        raise UserError(f"{CHANGE_LOG} is the name of the log that --fix writes. Rename your file of that name.")
    if len(set(names)) < len(paths):
        raise UserError("--fix would write the copy of a file twice, since it is named twice: name each file once")


def clean_training_data(
    inputs: CheckInputs, checked: CheckResult, ignored: int, out: Path, temporary: Path
) -> CleaningResult:
    """Write a cleaned copy of the training data into the new folder `out`.

    ignored: bits of the kinds of problems to leave as they are. temporary: an existing folder for intermediate files.
    """
    if checked.corpora[0].count("unpaired"):
        raise UserError(
            "--fix cannot tell which lines belong together if one file has more lines than the other. Find the line "
            "from which they are shifted, and repair that first."
        )
    files, kinds = inputs.splits[TRAIN_SPLIT], FIXABLE & ~ignored
    parallel = zip(*(shard.paths for shard in files.shards if len(shard.paths) == 2), strict=True)
    sides = [
        *parallel,
        [shard.paths[0] for shard in files.shards if len(shard.paths) == 1],
    ]  # source files, target files, and files with both
    encodings = detect_encodings(sides) if kinds & Problem.INVALID_UTF8 else {}
    repairer = RowRepairer(files, kinds & REPAIRABLE, encodings)
    repaired = map(repairer.repair, files.rows())
    features = extract_features(repaired, temporary / "repaired", target_only=inputs.target_only)
    detector = ProblemDetector(features, checked.held_out, target_only=inputs.target_only)
    dropped = kinds & ~NEVER_DROPPED
    reasons = detector.detect(temporary / "problems", dropped) & np.uint32(dropped)
    if reasons.all():
        raise UserError(f"{files.paths()[0]}: --fix would leave nothing. Add --ignore KIND.")
    with new_folder(out) as new:
        result = _write_copy(new, files, repairer, reasons)
        (new / PARTIAL_LOG).rename(new / CHANGE_LOG)  # marks the copy as complete, even in an existing folder
    return result


def _write_copy(new: Path, files: CorpusFiles, repairer: RowRepairer, reasons: NDArray[np.uint32]) -> CleaningResult:
    names, remaining = copied_file_names(files.paths()), iter(reasons)

    def file_changed() -> UserError:
        return UserError(f"{files.paths()[0]}: changed while it was read. Start again.")

    def shard_decisions(shard: Shard) -> Iterator[tuple[CorpusRow, int]]:
        for row in files.shard_rows(shard):
            reason = next(remaining, None)
            if reason is None:
                raise file_changed()
            yield row, int(reason)

    with (new / PARTIAL_LOG).open("wb") as file:
        log = ChangeLog(file)
        for shard in files.shards:
            for path in filter(is_utf16, shard.paths):
                log.add_conversion(path)
            _write_shard([new / names[path] for path in shard.paths], shard_decisions(shard), repairer, log)
    if next(remaining, None) is not None:
        raise file_changed()
    return CleaningResult(len(reasons) - log.dropped, log.repaired, log.dropped)


def _write_shard(
    paths: Sequence[Path], decisions: Iterable[tuple[CorpusRow, int]], repairer: RowRepairer, log: ChangeLog
) -> None:
    """Write the rows of a shard. decisions: each row, and the bits of the reasons to drop it."""
    with ExitStack() as stack:
        outputs = [stack.enter_context(open_compressed(path)) for path in paths]
        for row, reasons in decisions:
            if reasons:
                log.add_drop(row, reasons)
                continue
            repaired = repairer.repair(row)  # again: repaired rows are not kept in memory
            for output, line in zip(outputs, repaired.lines, strict=True):
                output.write(f"{line}\n".encode("utf-8", "surrogateescape"))
            if repaired.lines != row.lines:
                log.add_repair(row, repaired, repairer.line_problems(row))


class ChangeLog:
    """Writes a JSON object for each change, and counts dropped and repaired rows."""

    def __init__(self, file: BinaryIO):
        self._file = file
        self.dropped = 0
        self.repaired = 0

    def add_conversion(self, path: Path) -> None:
        self._write(path, None, "encoding", "UTF-16", "UTF-8")

    def add_drop(self, row: CorpusRow, reasons: int) -> None:
        self.dropped += 1
        self._write(row.shard.paths[0], row.number, f"dropped: {', '.join(problem_names(reasons))}", row.lines, None)

    def add_repair(self, row: CorpusRow, repaired: CorpusRow, problems: Iterable[int]) -> None:
        """Log the lines that differ. problems: bits of the problems of each line."""
        self.repaired += 1
        for path, before, after, found in zip(row.shard.paths, row.lines, repaired.lines, problems, strict=True):
            if before != after:
                self._write(path, row.number, ", ".join(problem_names(found)), before, after)

    def _write(self, path: Path, line: int | None, change: str, before: object, after: object) -> None:
        """Bytes that are not UTF-8 are lone surrogates: \\udce9 for 0xE9."""
        entry = {"file": str(path), "line": line, "change": change, "before": before, "after": after}
        self._file.write(json.dumps(entry, ensure_ascii=False).encode("utf-8", "backslashreplace") + b"\n")


class RowRepairer:
    """Repairs rows. kinds: bits of the problems to repair. encodings: of the lines of each file that are not UTF-8."""

    def __init__(self, files: CorpusFiles, kinds: int, encodings: Mapping[Path, str]):
        self._files = files
        self._kinds = kinds
        self._encodings = encodings

    def repair(self, row: CorpusRow) -> CorpusRow:
        row = self._decode(row)
        if row.pair is None:
            return row
        source, target = row.pair
        return self._files.replace_pair(row, (repair_line(source, self._kinds), repair_line(target, self._kinds)))

    def line_problems(self, row: CorpusRow) -> Iterator[int]:
        """Yield the bits of the problems of each line that are repaired; the line of a table has both sides."""
        pair = self._decode(row).pair or ("", "")
        texts = [(side,) for side in pair] if len(row.lines) == 2 else [pair]
        for line, sides in zip(row.lines, texts, strict=True):
            found = 0 if is_valid_unicode(line) else Problem.INVALID_UTF8
            found |= Problem.BYTE_ORDER_MARK if line.startswith(BOM_CHARACTER) else 0
            yield reduce(or_, map(find_character_problems, sides), found) & self._kinds

    def _decode(self, row: CorpusRow) -> CorpusRow:
        """Decode lines that are not UTF-8, and remove byte order marks at the start of files."""
        if row.problems & Problem.INVALID_UTF8 & self._kinds:
            encodings = map(self._encodings.get, row.shard.paths)
            lines = tuple(map(decode_line, row.lines, encodings))
            row = self._files.make_row(row.shard, row.number, lines, row.problems & ~Problem.INVALID_UTF8)
        if row.problems & Problem.BYTE_ORDER_MARK & self._kinds:
            lines = tuple(line.removeprefix(BOM_CHARACTER) for line in row.lines)
            row = row._replace(lines=lines, problems=row.problems & ~Problem.BYTE_ORDER_MARK)
        return row


def copied_file_names(paths: list[Path]) -> dict[Path, str]:
    """Return the name of each file in the copy, relative to the common folder of all files."""
    absolute = {path: Path(os.path.abspath(path)) for path in paths}  # noqa: PTH100 (resolves "..", but not links)
    parent = os.path.commonpath([path.parent for path in absolute.values()])
    return {path: str(full.relative_to(parent)) for path, full in absolute.items()}
