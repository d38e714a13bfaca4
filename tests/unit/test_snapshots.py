"""The copies that models are served from: locked while they are needed, and gone afterwards."""

import signal
import tempfile
from pathlib import Path

import pytest

from weft.checkpoints.manifest import write_manifest
from weft.core.errors import UserError
from weft.core.files import path_lock
from weft.serve import server
from weft.serve.server import StopHandler
from weft.serve.snapshot import SNAPSHOT_PREFIX, ModelSnapshot, remove_stale_snapshots


@pytest.fixture
def model(tmp_path: Path) -> Path:
    """A folder that is whole."""
    folder = tmp_path / "model"
    folder.mkdir()
    (folder / "weights.safetensors").write_bytes(b"weights")
    write_manifest(folder, {})
    return folder


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where copies are made."""
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    return folder


def test_what_killed_servers_left_is_removed_and_what_is_in_use_stays(model: Path, place: Path) -> None:
    (place / f"{SNAPSHOT_PREFIX}left" / "model").mkdir(parents=True)
    (place / "else").mkdir()
    (place / f"{SNAPSHOT_PREFIX}link").symlink_to(model)
    used = ModelSnapshot(model)
    remove_stale_snapshots()
    assert (used.folder / "weights.safetensors").read_bytes() == b"weights"
    assert {one.name for one in place.iterdir()} == {"else", f"{SNAPSHOT_PREFIX}link", used.folder.parent.name}
    with path_lock(used.folder.parent) as free:
        assert not free
    used.remove()
    used.remove()
    assert {one.name for one in place.iterdir()} == {"else", f"{SNAPSHOT_PREFIX}link"}
    assert (model / "weights.safetensors").exists()


def test_of_what_is_not_whole_nothing_is_left(model: Path, place: Path) -> None:
    (model / "weights.safetensors").write_bytes(b"other")
    with pytest.raises(UserError, match="is damaged"):
        ModelSnapshot(model)
    assert list(place.iterdir()) == []


class EndedError(Exception):
    """Instead of the end of the process."""


def test_the_second_signal_ends_at_once(model: Path, place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def end(code: int) -> None:
        raise EndedError(code)

    monkeypatch.setattr(server, "exit_process", end)
    asked = list[str]()
    stop = StopHandler(lambda: asked.append("stop"))
    ModelSnapshot(model)
    stop(signal.SIGTERM, None)
    assert asked == ["stop"]
    with pytest.raises(EndedError, match="130"):
        stop(signal.SIGTERM, None)
    assert list(place.iterdir()) == []
    assert asked == ["stop"]
