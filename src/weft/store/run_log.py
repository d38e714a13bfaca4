"""What a run has told so far: its log, a JSON object a line, read whole or followed while it grows."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO, TypeAlias

from weft.core.errors import UserError

LOG = "log.jsonl"
Record: TypeAlias = dict[str, Any]
Points: TypeAlias = list[tuple[int, float]]  # steps, and what was measured there


@dataclass
class History:
    """Reports of progress, validations, and what was diagnosed; all in the order of the steps."""

    reports: list[Record] = field(default_factory=list)
    validations: list[Record] = field(default_factory=list)
    findings: list[Record] = field(default_factory=list)

    @property
    def told(self) -> set[str]:
        """The names of the diagnoses."""
        return {finding["diagnosis"] for finding in self.findings}

    def add(self, record: Record) -> None:
        """Another line of the log."""
        if "diagnosis" in record:
            self.findings.append(record)
        elif "valid" in record:
            self.validations.append({"step": record["step"], **record["valid"]})
        else:
            self.reports.append(record)

    def training_loss(self, step: int) -> float | None:
        """As it was last reported up to a step."""
        return next((report["loss"] for report in reversed(self.reports) if report["step"] <= step), None)


def points(records: Sequence[Mapping[str, Any]], name: str) -> Points:
    """A curve: what reports or validations tell by this name. What is not finite cannot be drawn."""
    found = ((record["step"], record.get(name)) for record in records)
    return [(step, float(value)) for step, value in found if isinstance(value, int | float) and math.isfinite(value)]


def read_records(log: Path) -> Iterator[Record]:
    """Of the log of a run; one that has not begun has none."""
    if log.is_file():
        with log.open("rb") as file:
            yield from (checked(line, log, number) for number, line in enumerate(whole_lines(file), start=1))


def read_history(log: Path) -> History:
    history = History()
    for record in read_records(log):
        history.add(record)
    return history


class Following:
    """A log that another process may be writing: it grows, or it is cut back when the run goes on, or it is not yet
    there. Nothing is kept open between two looks.
    """

    def __init__(self, log: Path):
        self.log = log
        self.history = History()
        self._read, self._lines = 0, 0  # bytes, all of them whole lines, and how many
        self._last = b""  # the last of these lines

    def look(self) -> bool:
        """Read what has come since the last look; whether anything has changed."""
        if not self.log.is_file():
            return self._begin_anew()
        before = self._read
        with self.log.open("rb") as file:
            changed = not self._goes_on(file) and self._begin_anew()
            file.seek(self._read)
            for line in whole_lines(file):
                self._add(line)
        return changed or self._read != before

    def _goes_on(self, file: BinaryIO) -> bool:
        """Does the last line that was read still stand where it stood?"""
        file.seek(self._read - len(self._last))
        return file.read(len(self._last)) == self._last

    def _begin_anew(self) -> bool:
        changed = self._read > 0
        self.history, self._read, self._lines, self._last = History(), 0, 0, b""
        return changed

    def _add(self, line: bytes) -> None:
        self.history.add(checked(line, self.log, self._lines + 1))
        self._read, self._lines, self._last = self._read + len(line), self._lines + 1, line


def whole_lines(file: BinaryIO) -> Iterator[bytes]:
    """Without the last one, if it is still being written."""
    for line in file:
        if line.endswith(b"\n"):
            yield line


def checked(line: bytes, log: Path, number: int) -> Record:
    """What a whole line of the log tells."""
    record = record_of(line)
    if record is None:
        raise UserError(f"{log}, line {number}: is damaged: it is no record of a step; remove that line")
    return record


def record_of(line: bytes) -> Record | None:
    """What a line of the log tells; None of one that is none, as where a kill cut it in half."""
    try:
        record = json.loads(line)
    except (ValueError, RecursionError):
        return None
    match record:
        case {"step": int(), "valid": dict()} | {"step": int(), "diagnosis": str()}:
            return dict(record)
        case {"step": int()} if not {"valid", "diagnosis"} & record.keys():
            return dict(record)
    return None
