"""Where the model of a run is, and what its files are called. Nothing here needs torch, so it is there at once."""

import hashlib
from pathlib import Path

from weft.core.errors import UserError
from weft.store.files import standing
from weft.store.manifest import MANIFEST, read_manifest

WEIGHTS, CONFIG, METRICS = "weights.safetensors", "config.json", "metrics.json"
SHORTLIST, CONFIDENCE = "shortlist.safetensors", "confidence.json"
BESIDE = {METRICS, SHORTLIST, CONFIDENCE}  # what is known of a model, or was added to it: it says the same without


def find_model(path: Path) -> Path:
    """A model folder itself, or of a run folder the best model (the last, if none was validated yet).

    Where a process was killed while it replaced that model, the old one is read where it is: nothing is renamed here.
    """
    for folder in map(standing, places(path)):
        if (folder / MANIFEST).is_file() and (folder / WEIGHTS).is_file():
            return folder
    if not path.exists():
        raise UserError(f"{path}: there is no such folder. Give a run folder or a model folder.")
    raise UserError(
        f"{path} is not a model folder: it has no {MANIFEST} with {WEIGHTS}, and neither has {path / 'best'}. "
        "Give the folder that weft train wrote (its --out)."
    )


def places(path: Path) -> tuple[Path, ...]:
    """Where the model may be that a path leads to, the first of them first."""
    return path, path / "best", path / "last"


def fingerprint(path: Path) -> str:
    """Equal for copies of one folder alone: the manifest has a hash of every file."""
    return hashlib.sha256((find_model(path) / MANIFEST).read_bytes()).hexdigest()


def identity(path: Path) -> str:
    """Equal for copies of one model, also where a shortlist or a calibration was added to one of them since."""
    files = read_manifest(find_model(path)).files
    told = [f"{name} {facts.sha256}" for name, facts in sorted(files.items()) if name not in BESIDE]
    return hashlib.sha256("\n".join(told).encode()).hexdigest()
