"""Finding a model folder without changes on the disk."""

from pathlib import Path
from typing import Never

import pytest

from weft.checkpoints.model_folder import find_model, folder_fingerprint
from weft.core.errors import UserError


def make_model_folder(folder: Path, text: str = "") -> Path:
    folder.mkdir(parents=True)
    for name in ("manifest.json", "weights.safetensors"):
        (folder / name).write_text(text)
    return folder


@pytest.fixture(autouse=True)
def read_only_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make the disk read-only."""

    def refuse(*_: object) -> Never:
        raise OSError(30, "Read-only file system")

    for name in ("rename", "replace", "unlink"):
        monkeypatch.setattr(Path, name, refuse)


def test_backup_left_by_a_killed_process_is_read(tmp_path: Path) -> None:
    backup = make_model_folder(tmp_path / ".best.weft-old")
    make_model_folder(tmp_path / "last")
    assert find_model(tmp_path) == backup
    assert find_model(tmp_path / "best") == backup
    assert folder_fingerprint(tmp_path) == folder_fingerprint(backup)


def test_model_is_preferred_to_its_backup(tmp_path: Path) -> None:
    make_model_folder(tmp_path / ".best.weft-old", "old")
    best = make_model_folder(tmp_path / "best", "new")
    assert find_model(tmp_path) == find_model(best) == best


def test_backup_of_a_single_model_folder_is_read(tmp_path: Path) -> None:
    backup = make_model_folder(tmp_path / ".model.weft-old")
    assert find_model(tmp_path / "model") == backup
    with pytest.raises(UserError, match="there is no such folder"):
        find_model(tmp_path / "other")
