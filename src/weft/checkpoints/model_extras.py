"""Files added to a model folder after training: confidence.json (calibration) and shortlist.safetensors.

The folder is replaced atomically, under a lock, with a new manifest.
"""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from safetensors.numpy import load_file, save_file

from weft.checkpoints.data_files import explain_load_errors, explain_save_errors, read_json_as, write_json
from weft.checkpoints.manifest import COPY_ADVICE, check_manifest, write_manifest
from weft.checkpoints.model_folder import (
    CALIBRATION_FILE,
    SHORTLIST_FILE,
    find_model,
    find_run_folder,
    lock_folder,
    model_folder_candidates,
)
from weft.core.errors import UserError
from weft.core.files import atomic_folder, recover_folder
from weft.metrics.calibration import Calibration, CalibrationResult
from weft.text.lexical_shortlist import Shortlist


@contextmanager
def lock_model_folder(path: Path) -> Iterator[Path]:
    """Lock the model in a run or model folder against other processes, and yield its folder."""
    run = find_run_folder(path)
    with nullcontext() if run is None else lock_folder(run):
        for candidate in model_folder_candidates(path):
            recover_folder(candidate)
        folder = find_model(path)
        with lock_folder(folder):
            yield folder


@contextmanager
def replace_model_folder(folder: Path) -> Iterator[Path]:
    """Yield a copy of a model folder to add files to; it then replaces the folder, with a new manifest."""
    manifest = check_manifest(folder)
    with atomic_folder(folder) as new:
        try:
            shutil.copytree(folder, new, dirs_exist_ok=True, ignore=shutil.ignore_patterns(".*"))
            unchanged = check_manifest(new) == manifest
        except (shutil.Error, UserError):
            unchanged = False
        if not unchanged:
            raise UserError(f"{folder}: was changed by another process while it was copied; start again")
        yield new
        write_manifest(new, manifest.extra)


@dataclass(frozen=True)
class SavedCalibration:
    """The content of confidence.json."""

    good: str  # when a line counts as good, in words
    intercept: float
    slope: float
    length: float
    lines: int
    share_good: float
    error: float

    def __str__(self) -> str:
        return f"good is {self.good}; learned from {self.lines:,} lines, calibration error {self.error:.4f}"


def save_calibration(folder: Path, result: CalibrationResult, good: str) -> None:
    """Add a calibration to a model folder, or replace the one there."""
    saved = SavedCalibration(good, *result.calibration, result.lines, result.good, result.error)
    with replace_model_folder(folder) as new:
        write_json(new / CALIBRATION_FILE, asdict(saved))


def load_calibration(folder: Path) -> Calibration | None:
    """The calibration of a model folder whose manifest has been checked; None if it has none."""
    saved = read_saved_calibration(folder)
    return None if saved is None else Calibration(saved.intercept, saved.slope, saved.length)


def read_saved_calibration(folder: Path) -> SavedCalibration | None:
    path = folder / CALIBRATION_FILE
    return read_json_as(path, SavedCalibration) if path.exists() else None


def save_shortlist(folder: Path, shortlist: Shortlist) -> None:
    """Add a shortlist to a model folder, or replace the one there."""
    with replace_model_folder(folder) as new, explain_save_errors(new / SHORTLIST_FILE):
        arrays: dict[str, NDArray[Any]] = {
            "always": shortlist.always,
            "starts": shortlist.starts,
            "listed": shortlist.listed,
        }
        save_file(arrays, new / SHORTLIST_FILE)


def load_shortlist(folder: Path) -> Shortlist:
    """The shortlist of a model folder whose manifest has been checked; raise UserError if it has none."""
    if not has_shortlist(folder):
        raise UserError(f"{folder} has no shortlist: to learn one from its training data, weft shortlist {folder}")
    path = folder / SHORTLIST_FILE
    with explain_load_errors(path):
        arrays = load_file(path)
    try:
        shortlist = Shortlist(arrays["always"], arrays["starts"], arrays["listed"])
    except KeyError as error:
        raise UserError(f"{path}: is not a shortlist of Weft ({error}); {COPY_ADVICE}") from error
    starts = shortlist.starts
    if starts.size == 0 or starts[-1] != len(shortlist.listed) or np.any(np.diff(starts) < 0):
        raise UserError(f"{path}: is not a shortlist of Weft (inconsistent row offsets); {COPY_ADVICE}")
    return shortlist


def has_shortlist(folder: Path) -> bool:
    return (folder / SHORTLIST_FILE).exists()
