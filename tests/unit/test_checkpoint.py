"""Checkpoints: which are kept and which is loaded."""

from pathlib import Path

import torch

from weft.checkpoints.checkpoint import Checkpoint, checkpoint_paths, load_newest_checkpoint, save_checkpoint


def save(folder: Path, step: int) -> None:
    save_checkpoint(folder, step, Checkpoint({"weights": {"w": torch.tensor([float(step)])}}, {"step": step}))


def damage(folder: Path, step: int) -> None:
    (folder / f"step-{step:08d}" / "weights.safetensors").write_bytes(b"nothing")


def test_newest_two_checkpoints_are_kept(tmp_path: Path) -> None:
    for step in (1, 2, 30):
        save(tmp_path, step)
    assert [path.name for path in checkpoint_paths(tmp_path)] == ["step-00000002", "step-00000030"]


def test_newest_intact_checkpoint_is_loaded_and_damaged_ones_are_reported(tmp_path: Path) -> None:
    for step in (1, 2):
        save(tmp_path, step)
    damage(tmp_path, 2)
    messages: list[str] = []
    checkpoint = load_newest_checkpoint(tmp_path, messages.append)
    assert checkpoint is not None
    assert checkpoint.state == {"step": 1}
    assert checkpoint.groups["weights"]["w"].item() == 1.0
    assert [line.startswith(f"skipped: {tmp_path}/step-00000002/weights.safetensors") for line in messages] == [True]


def test_damaged_checkpoints_of_later_steps_do_not_replace_a_new_one(tmp_path: Path) -> None:
    for step in (7, 8):
        save(tmp_path, step)
        damage(tmp_path, step)
    save(tmp_path, 5)
    checkpoint = load_newest_checkpoint(tmp_path, lambda _: None)
    assert checkpoint is not None
    assert checkpoint.state == {"step": 5}


def test_no_checkpoint_is_loaded_from_a_missing_folder(tmp_path: Path) -> None:
    assert load_newest_checkpoint(tmp_path / "checkpoints", lambda _: None) is None
