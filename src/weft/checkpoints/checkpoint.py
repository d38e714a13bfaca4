"""Training checkpoints: tensor groups (weights, optimizer, average) and run state, enough for a bit-exact resume;
the newest intact one is loaded.
"""

import shutil
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from safetensors.torch import load_file, save_file
from torch import Tensor

from weft.checkpoints.file_formats import explain_load_errors, explain_save_errors, read_json_object, write_json
from weft.checkpoints.manifest import check_manifest, write_manifest
from weft.core.errors import UserError
from weft.core.files import atomic_folder

STATE_FILE = "state.json"


class Checkpoint(NamedTuple):
    """Groups of tensors (weights, optimizer, average), and the state of the run as JSON data."""

    groups: Mapping[str, Mapping[str, Tensor]]
    state: dict[str, Any]


def save_checkpoint(folder: Path, step: int, checkpoint: Checkpoint) -> None:
    """Write checkpoint `step` atomically, then remove old ones."""
    folder.mkdir(parents=True, exist_ok=True)
    with atomic_folder(_checkpoint_path(folder, step)) as new:
        for name, group in checkpoint.groups.items():
            file = new / f"{name}.safetensors"
            with explain_save_errors(file):
                save_file({key: tensor.detach().contiguous() for key, tensor in group.items()}, file)
        write_json(new / STATE_FILE, checkpoint.state)
        write_manifest(new, {"kind": "checkpoint"})
    remove_old_checkpoints(folder, step)


def remove_old_checkpoints(folder: Path, step: int, keep: int = 2) -> None:
    """Remove all but the newest `keep` of the checkpoints up to `step`."""
    newest = _checkpoint_path(folder, step)
    for old in [path for path in checkpoint_paths(folder) if path <= newest][:-keep]:
        shutil.rmtree(old, ignore_errors=True)


def load_newest_checkpoint(folder: Path, report: Callable[[str], None]) -> Checkpoint | None:
    """Load the newest intact checkpoint; None if there is none at all. Damaged ones are reported and skipped; raise
    UserError if all are damaged.
    """
    damage: list[str] = []
    for path in reversed(checkpoint_paths(folder)):
        try:
            check_manifest(path)
        except UserError as error:
            damage.append(str(error))
            report(f"skipped: {error}")
            continue
        groups = {}
        for file in sorted(path.glob("*.safetensors")):
            with explain_load_errors(file):
                groups[file.stem] = load_file(file)
        return Checkpoint(groups, read_json_object(path / STATE_FILE))
    if damage:
        raise UserError("no checkpoint is intact, so the run cannot resume:\n" + "\n".join(f"  {d}" for d in damage))
    return None


def checkpoint_paths(folder: Path) -> list[Path]:
    """The checkpoints in the folder, oldest first."""
    return sorted(folder.glob("step-????????"))


def _checkpoint_path(folder: Path, step: int) -> Path:
    return folder / f"step-{step:08d}"
