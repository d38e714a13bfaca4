"""Where a model is found: reading changes nothing on the disk."""

from pathlib import Path
from typing import Never

import pytest

from weft.checkpoints.model_folder import find_model, folder_fingerprint
from weft.core.errors import UserError


def model(folder: Path, text: str = "") -> Path:
    folder.mkdir(parents=True)
    for name in ("manifest.json", "weights.safetensors"):
        (folder / name).write_text(text)
    return folder


@pytest.fixture(autouse=True)
def unwritable(monkeypatch: pytest.MonkeyPatch) -> None:
    """A disk that can only be read."""

    def refuse(*_: object) -> Never:
        raise OSError(30, "Read-only file system")

    for name in ("rename", "replace", "unlink"):
        monkeypatch.setattr(Path, name, refuse)


def test_a_model_that_a_killed_process_left_aside_is_read_there(tmp_path: Path) -> None:
    aside = model(tmp_path / ".best.weft-old")
    model(tmp_path / "last")
    assert find_model(tmp_path) == aside
    assert find_model(tmp_path / "best") == aside
    assert folder_fingerprint(tmp_path) == folder_fingerprint(aside)


def test_one_that_stands_in_its_place_is_newer(tmp_path: Path) -> None:
    model(tmp_path / ".best.weft-old", "old")
    best = model(tmp_path / "best", "new")
    assert find_model(tmp_path) == find_model(best) == best


def test_by_itself_too(tmp_path: Path) -> None:
    aside = model(tmp_path / ".model.weft-old")
    assert find_model(tmp_path / "model") == aside
    with pytest.raises(UserError, match="there is no such folder"):
        find_model(tmp_path / "other")
