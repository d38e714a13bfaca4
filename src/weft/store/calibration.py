"""The calibration of a model, kept in its folder: confidence.json."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path

from weft.core.errors import UserError
from weft.metric.calibration import Calibrated, Calibration
from weft.store.adding import changed_folder
from weft.store.json_files import read_object
from weft.store.manifest import COPY_AGAIN
from weft.store.model_folder import write_json
from weft.store.place import CONFIDENCE


@dataclass(frozen=True)
class KeptCalibration:
    """What is written down."""

    good: str  # what a good line is, in words
    intercept: float
    slope: float
    length: float
    lines: int
    share_good: float
    error: float

    def told(self) -> str:
        """In a line, for a person."""
        return f"good is {self.good}; learned from {self.lines:,} lines, calibration error {self.error:.4f}"


def save_calibration(folder: Path, calibrated: Calibrated, good: str) -> None:
    """Put it into a model folder, in place of an older one; the folder is replaced as a whole or stays as it was."""
    kept = KeptCalibration(good, *calibrated.calibration, calibrated.lines, calibrated.good, calibrated.error)
    with changed_folder(folder) as new:
        write_json(new / CONFIDENCE, asdict(kept))


def load_calibration(folder: Path) -> Calibration | None:
    """That of a model folder, whose manifest has been checked; None if it has none."""
    kept = read_calibration(folder)
    return None if kept is None else Calibration(kept.intercept, kept.slope, kept.length)


def read_calibration(folder: Path) -> KeptCalibration | None:
    """The same, with all that was written down."""
    path = folder / CONFIDENCE
    if not path.exists():
        return None
    try:
        node = read_object(path)
        return KeptCalibration(
            good=str(node["good"]),
            intercept=float(node["intercept"]),
            slope=float(node["slope"]),
            length=float(node["length"]),
            lines=int(node["lines"]),
            share_good=float(node["share_good"]),
            error=float(node["error"]),
        )
    except (ValueError, KeyError, TypeError) as error:
        raise UserError(f"{path}: is no calibration of Weft ({error}); {COPY_AGAIN}") from error
