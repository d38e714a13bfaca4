"""A file more in a model folder: of the model that was there, while nobody else writes."""

import shutil
from pathlib import Path
from typing import Any

import pytest

from weft.checkpoints.manifest import check_manifest, write_manifest
from weft.checkpoints.model_extras import lock_model_folder, replace_model_folder
from weft.core.errors import UserError
from weft.core.files import path_lock


@pytest.fixture
def model(tmp_path: Path) -> Path:
    return written(tmp_path / "run" / "best", "first")


def written(folder: Path, text: str) -> Path:
    folder.mkdir(parents=True)
    (folder.parent / "config.yaml").write_text("")
    (folder / "weights.safetensors").write_text(text)
    write_manifest(folder, {"kind": "model"})
    return folder


def add(folder: Path) -> None:
    with replace_model_folder(folder) as new:
        (new / "more").write_text("more")


def test_a_file_more(model: Path) -> None:
    add(model)
    assert check_manifest(model).extra == {"kind": "model"}
    assert sorted(path.name for path in model.iterdir()) == ["manifest.json", "more", "weights.safetensors"]


@pytest.mark.parametrize("text", ["other", None])
def test_what_changed_while_it_was_copied_is_not_blessed(
    text: str | None, model: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As when another process puts its own model there, a file at a time."""
    really = shutil.copytree

    def changed(folder: Path, new: Path, **settings: Any) -> None:
        if text is None:
            (folder / "weights.safetensors").unlink()
            (folder / "weights.safetensors").symlink_to("nothing")
        else:
            (folder / "weights.safetensors").write_text(text)
        really(folder, new, **settings)

    monkeypatch.setattr(shutil, "copytree", changed)
    with pytest.raises(UserError, match=f"^{model}: was changed by another process while it was copied"):
        add(model)
    assert sorted(path.name for path in model.iterdir()) == ["manifest.json", "weights.safetensors"]
    assert [path.name for path in model.parent.glob(".*")] == []


@pytest.mark.parametrize("place", ["", "best"])
def test_a_run_in_progress_is_left_alone(place: str, model: Path) -> None:
    run = model.parent
    with path_lock(run), pytest.raises(UserError, match=f"^{run}: another process is writing there") as caught:
        lock_model_folder(run / place).__enter__()
    assert "trains this run" in str(caught.value)


def test_two_cannot_add_at_once(model: Path) -> None:
    (model.parent / "config.yaml").unlink()  # a model by itself
    with lock_model_folder(model), pytest.raises(UserError, match=f"^{model}: another process is writing there"):
        lock_model_folder(model).__enter__()
    with lock_model_folder(model) as folder:
        add(folder)
    check_manifest(model)


def test_a_model_that_a_killed_process_left_aside_is_brought_back(model: Path) -> None:
    model.rename(model.with_name(".best.weft-old"))
    with lock_model_folder(model.parent) as folder:
        assert folder == model
        add(folder)
    assert (model / "more").exists()
    assert [path.name for path in model.parent.glob(".*")] == []
