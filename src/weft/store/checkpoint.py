"""Checkpoints: everything a run needs to go on as if it had never stopped."""

import shutil
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from safetensors.torch import load_file, save_file
from torch import Tensor

from weft.core.errors import UserError
from weft.store.files import atomic_folder
from weft.store.json_files import read_object
from weft.store.manifest import check_manifest, write_manifest
from weft.store.model_folder import write_json
from weft.store.tensors import loading, saving

STATE = "state.json"


class Checkpoint(NamedTuple):
    """Groups of tensors (weights, optimiser, average), and the plain numbers of the run."""

    groups: Mapping[str, Mapping[str, Tensor]]
    state: dict[str, Any]


def save_checkpoint(folder: Path, step: int, checkpoint: Checkpoint) -> None:
    """Write checkpoint `step` whole, then remove what is too old."""
    folder.mkdir(parents=True, exist_ok=True)
    with atomic_folder(place_of(folder, step)) as new:
        for name, tensors in checkpoint.groups.items():
            kept, file = {key: tensor.detach().contiguous() for key, tensor in tensors.items()}, f"{name}.safetensors"
            with saving(new / file):
                save_file(kept, new / file)
        write_json(new / STATE, checkpoint.state)
        write_manifest(new, {"kind": "checkpoint"})
    remove_old(folder, step)


def remove_old(folder: Path, step: int, keep: int = 2) -> None:
    """Of the checkpoints up to `step`, keep the newest few."""
    for old in [path for path in steps_in(folder) if path <= place_of(folder, step)][:-keep]:
        shutil.rmtree(old, ignore_errors=True)


def newest_checkpoint(folder: Path, tell: Callable[[str], None]) -> Checkpoint | None:
    """The newest one that is whole; a damaged one is told and passed over as long as an older one is whole."""
    damage: list[str] = []
    for path in reversed(steps_in(folder)):
        try:
            check_manifest(path)
        except UserError as error:
            damage.append(str(error))
            tell(f"passed over: {error}")
            continue
        groups = {file.stem: load_group(file) for file in sorted(path.glob("*.safetensors"))}
        return Checkpoint(groups, read_object(path / STATE))
    if damage:
        raise UserError(
            "no checkpoint is whole, so the run cannot go on:\n" + "\n".join(f"  {line}" for line in damage)
        )
    return None


def load_group(file: Path) -> Mapping[str, Tensor]:
    with loading(file):
        return load_file(file)


def place_of(folder: Path, step: int) -> Path:
    return folder / f"step-{step:08d}"


def steps_in(folder: Path) -> list[Path]:
    """The checkpoints there are, oldest first."""
    return sorted(folder.glob("step-????????"))
