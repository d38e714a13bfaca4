"""Adding a file to a model folder, under a lock."""

import shutil
from pathlib import Path
from typing import Any

import pytest

from weft.checkpoints.manifest import check_manifest, write_manifest
from weft.checkpoints.model_folder import lock_model_folder, replace_model_folder
from weft.core.errors import UserError
from weft.core.files import path_lock


@pytest.fixture
def model(tmp_path: Path) -> Path:
    return write_model(tmp_path / "run" / "best", "first")


def write_model(folder: Path, text: str) -> Path:
    folder.mkdir(parents=True)
    (folder.parent / "config.yaml").write_text("")
    (folder / "weights.safetensors").write_text(text)
    write_manifest(folder, {"kind": "model"})
    return folder


def add_file(folder: Path) -> None:
    with replace_model_folder(folder) as new:
        (new / "more").write_text("more")


def test_file_is_added(model: Path) -> None:
    add_file(model)
    assert check_manifest(model).extra == {"kind": "model"}
    assert sorted(path.name for path in model.iterdir()) == ["manifest.json", "more", "weights.safetensors"]


@pytest.mark.parametrize("text", ["other", None])
def test_model_changed_during_copy_is_rejected(text: str | None, model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another process replaces the model file by file."""
    copytree = shutil.copytree

    def change_and_copy(folder: Path, new: Path, **settings: Any) -> None:
        if text is None:
            (folder / "weights.safetensors").unlink()
            (folder / "weights.safetensors").symlink_to("nothing")
        else:
            (folder / "weights.safetensors").write_text(text)
        copytree(folder, new, **settings)

    monkeypatch.setattr(shutil, "copytree", change_and_copy)
    with pytest.raises(UserError, match=f"^{model}: was changed by another process while it was copied"):
        add_file(model)
    assert sorted(path.name for path in model.iterdir()) == ["manifest.json", "weights.safetensors"]
    assert [path.name for path in model.parent.glob(".*")] == []


@pytest.mark.parametrize("subfolder", ["", "best"])
def test_model_of_a_running_training_is_locked(subfolder: str, model: Path) -> None:
    run = model.parent
    with path_lock(run), pytest.raises(UserError, match=f"^{run}: another process is writing there") as caught:
        lock_model_folder(run / subfolder).__enter__()
    assert "trains this run" in str(caught.value)


def test_model_folder_is_locked_exclusively(model: Path) -> None:
    (model.parent / "config.yaml").unlink()  # a model outside a run folder
    with lock_model_folder(model), pytest.raises(UserError, match=f"^{model}: another process is writing there"):
        lock_model_folder(model).__enter__()
    with lock_model_folder(model) as folder:
        add_file(folder)
    check_manifest(model)


def test_model_renamed_by_a_killed_process_is_restored(model: Path) -> None:
    model.rename(model.with_name(".best.weft-old"))
    with lock_model_folder(model.parent) as folder:
        assert folder == model
        add_file(folder)
    assert (model / "more").exists()
    assert [path.name for path in model.parent.glob(".*")] == []
