"""The log of a run (log.jsonl, one JSON object per line), read at once or followed while it grows; the best
validation in it, and how the run ended.
"""

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO, Literal, NamedTuple, TypeAlias

from weft.core.errors import UserError
from weft.metrics.corpus_metrics import is_better

LOG_FILE = "log.jsonl"
LogRecord: TypeAlias = dict[str, Any]
CurvePoints: TypeAlias = list[tuple[int, float]]  # (step, value)
RunEnd: TypeAlias = Literal["finished", "patience", "broken"]


@dataclass
class TrainingHistory:
    """Progress reports, validations and diagnoses of a run, each in the order of the steps."""

    reports: list[LogRecord] = field(default_factory=list)
    validations: list[LogRecord] = field(default_factory=list)
    findings: list[LogRecord] = field(default_factory=list)

    @property
    def diagnoses(self) -> set[str]:
        """The names of the diagnoses."""
        return {finding["diagnosis"] for finding in self.findings}

    def add(self, record: LogRecord) -> None:
        if "diagnosis" in record:
            self.findings.append(record)
        elif "validation" in record:
            self.validations.append({"step": record["step"], **record["validation"]})
        else:
            self.reports.append(record)

    def training_loss(self, step: int) -> float | None:
        """The last loss reported up to `step`."""
        return next((report["loss"] for report in reversed(self.reports) if report["step"] <= step), None)


def curve_points(records: Sequence[Mapping[str, Any]], name: str) -> CurvePoints:
    """The finite values of `name` in reports or validations, as points of a curve."""
    values = ((record["step"], record.get(name)) for record in records)
    return [(step, float(value)) for step, value in values if isinstance(value, int | float) and math.isfinite(value)]


def read_log_records(log: Path) -> Iterator[LogRecord]:
    """The records of a log; none if the file does not exist yet."""
    if log.is_file():
        with log.open("rb") as file:
            yield from (_parse_line(line, log, number) for number, line in enumerate(_complete_lines(file), start=1))


def read_history(log: Path) -> TrainingHistory:
    history = TrainingHistory()
    for record in read_log_records(log):
        history.add(record)
    return history


class LogFollower:
    """Follows a log that another process writes: the file may be missing, grow, or be truncated when the run resumes.

    The file is not kept open between two updates.
    """

    def __init__(self, log: Path):
        self.log, self.history = log, TrainingHistory()
        self._offset, self._lines, self._last_line = 0, 0, b""  # bytes and lines read, and the last of these lines

    def update(self) -> bool:
        """Read the lines added since the last update; return whether anything has changed."""
        before = self._offset
        if not self.log.is_file():
            self._reset()
            return before > 0
        with self.log.open("rb") as file:
            file.seek(self._offset - len(self._last_line))
            replaced = file.read(len(self._last_line)) != self._last_line
            if replaced:
                self._reset()
            file.seek(self._offset)
            for line in _complete_lines(file):
                self.history.add(_parse_line(line, self.log, self._lines + 1))
                self._offset, self._lines, self._last_line = self._offset + len(line), self._lines + 1, line
        return replaced or self._offset != before

    def _reset(self) -> None:
        self.history, self._offset, self._lines, self._last_line = TrainingHistory(), 0, 0, b""


def _complete_lines(file: BinaryIO) -> Iterator[bytes]:
    """All lines except a last one that is still being written."""
    return (line for line in file if line.endswith(b"\n"))


def _parse_line(line: bytes, log: Path, number: int) -> LogRecord:
    record = parse_record(line)
    if record is None:
        raise UserError(f"{log}, line {number}: is damaged: not a log record; remove that line")
    return record


def parse_record(line: bytes) -> LogRecord | None:
    """The record in a line of the log; None if the line is not one, for instance truncated when a run was killed."""
    try:
        record = json.loads(line)
    except (ValueError, RecursionError):
        return None
    match record:
        case {"step": int(), "validation": dict()} | {"step": int(), "diagnosis": str()}:
            return dict(record)
        case {"step": int()} if not {"validation", "diagnosis"} & record.keys():
            return dict(record)
    return None


class BestValidation(NamedTuple):
    """The validation that chose the best model: the metric, the step, the value."""

    name: str
    step: int
    value: float


def best_validation(validations: Sequence[LogRecord], metric: str) -> BestValidation | None:
    """The best validation by `metric`; of equal ones the first."""
    best: BestValidation | None = None
    for step, value in curve_points(validations, metric):
        if is_better(metric, value, None if best is None else best.value):
            best = BestValidation(metric, step, value)
    return best


def find_run_end(history: TrainingHistory, steps: int | None, metric: str, patience: int | None) -> RunEnd | None:
    """How the run ended: "finished" (all steps made and validated), "patience" (no improvement in as many
    validations) or "broken" (a loss was not finite). None if it was stopped or is still running.
    """
    if "non-finite" in history.diagnoses:
        return "broken"
    if any(validation["step"] == steps for validation in history.validations):
        return "finished"
    best = best_validation(history.validations, metric)
    since = sum(validation["step"] > best.step for validation in history.validations) if best else 0
    return "patience" if patience is not None and since >= patience else None
