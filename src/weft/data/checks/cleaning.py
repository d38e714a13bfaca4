"""Writes a cleaned copy of the training files (repairs encodings, control characters and mojibake, drops bad
pairs) and a log of every change.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import BinaryIO, NamedTuple

import numpy as np
from numpy.typing import NDArray

from weft.core.errors import UserError
from weft.core.files import check_new_folder, new_folder
from weft.data.checks.corpus_rows import CorpusFiles, CorpusRow
from weft.data.checks.encodings import decode_line, detect_encodings, is_utf16
from weft.data.checks.outliers import ProblemDetector
from weft.data.checks.pair_features import extract_features
from weft.data.checks.pair_problems import BOM_CHARACTER, find_character_problems, repair_line
from weft.data.checks.problem_kinds import FIXABLE, REPAIRABLE, Problem, problem_names
from weft.data.checks.quality_check import TRAIN_SPLIT, CheckInputs, CheckResult
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
    names, remaining, kept, changed = copied_file_names(files.paths()), iter(reasons), 0, 0
    file_changed = UserError(f"{files.paths()[0]}: changed while it was read. Start again.")
    with (new / PARTIAL_LOG).open("wb") as log:
        for shard in files.shards:
            for path in filter(is_utf16, shard.paths):
                _log_change(log, path, None, "encoding", "UTF-16", "UTF-8")
            with ExitStack() as stack:
                outputs = [stack.enter_context(open_compressed(new / names[path])) for path in shard.paths]
                for row in files.shard_rows(shard):
                    reason = next(remaining, None)
                    if reason is None:
                        raise file_changed
                    if reason:
                        change = f"dropped: {', '.join(problem_names(int(reason)))}"
                        _log_change(log, shard.paths[0], row.number, change, row.lines, None)
                        continue
                    repaired = repairer.repair(row)  # again: repaired rows are not kept in memory
                    for output, line in zip(outputs, repaired.lines, strict=True):
                        output.write(f"{line}\n".encode("utf-8", "surrogateescape"))
                    kept += 1
                    changed += repaired.lines != row.lines
                    for path, before, after in zip(shard.paths, row.lines, repaired.lines, strict=True):
                        if before != after:
                            change = ", ".join(problem_names(repairer.problems(row)))
                            _log_change(log, path, row.number, change, before, after)
    if next(remaining, None) is not None:
        raise file_changed
    return CleaningResult(kept, changed, len(reasons) - kept)


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

    def problems(self, row: CorpusRow) -> int:
        """Return the bits of the problems of a row that are repaired."""
        found = row.problems
        for line in self._decode(row).pair or ():
            found |= find_character_problems(line)
        return found & self._kinds

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


def _log_change(log: BinaryIO, path: Path, line: int | None, change: str, before: object, after: object) -> None:
    """Write a JSON object. Bytes that are not UTF-8 are lone surrogates: \\udce9 for 0xE9."""
    entry = {"file": str(path), "line": line, "change": change, "before": before, "after": after}
    log.write(json.dumps(entry, ensure_ascii=False).encode("utf-8", "backslashreplace") + b"\n")


def copied_file_names(paths: list[Path]) -> dict[Path, str]:
    """Return the name of each file in the copy, relative to the common folder of all files."""
    absolute = {path: Path(os.path.abspath(path)) for path in paths}  # noqa: PTH100 (resolves "..", but not links)
    parent = os.path.commonpath([path.parent for path in absolute.values()])
    return {path: str(full.relative_to(parent)) for path, full in absolute.items()}
