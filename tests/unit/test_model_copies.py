"""Copies of served model folders: locked while in use, removed afterwards."""

import os
import signal
import tempfile
from pathlib import Path

import pytest

from weft.checkpoints.manifest import write_manifest
from weft.core.errors import UserError
from weft.core.files import path_lock
from weft.serve.model_copy import COPY_PREFIX, ModelCopy, remove_stale_copies
from weft.serve.server import StopHandler


@pytest.fixture
def model(tmp_path: Path) -> Path:
    """Return a valid model folder."""
    folder = tmp_path / "model"
    folder.mkdir()
    (folder / "weights.safetensors").write_bytes(b"weights")
    write_manifest(folder, {})
    return folder


@pytest.fixture
def temporary_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the folder in which copies are created."""
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    return folder


def test_stale_copies_are_removed_and_used_ones_remain(model: Path, temporary_folder: Path) -> None:
    (temporary_folder / f"{COPY_PREFIX}left" / "model").mkdir(parents=True)
    (temporary_folder / "else").mkdir()
    (temporary_folder / f"{COPY_PREFIX}link").symlink_to(model)
    used = ModelCopy(model)
    remove_stale_copies()
    assert (used.folder / "weights.safetensors").read_bytes() == b"weights"
    assert {path.name for path in temporary_folder.iterdir()} == {
        "else",
        f"{COPY_PREFIX}link",
        used.folder.parent.name,
    }
    with path_lock(used.folder.parent) as free:
        assert not free
    used.remove()
    used.remove()
    assert {path.name for path in temporary_folder.iterdir()} == {"else", f"{COPY_PREFIX}link"}
    assert (model / "weights.safetensors").exists()


def test_damaged_model_leaves_no_copy(model: Path, temporary_folder: Path) -> None:
    (model / "weights.safetensors").write_bytes(b"other")
    with pytest.raises(UserError, match="is damaged"):
        ModelCopy(model)
    assert list(temporary_folder.iterdir()) == []


class ProcessExitError(Exception):
    """Raised instead of exiting the process."""


def test_second_signal_exits_immediately(model: Path, temporary_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def exit_with_error(code: int) -> None:
        raise ProcessExitError(code)

    monkeypatch.setattr(os, "_exit", exit_with_error)
    calls = list[str]()
    stop = StopHandler(lambda: calls.append("stop"))
    ModelCopy(model)
    stop(signal.SIGTERM, None)
    assert calls == ["stop"]
    with pytest.raises(ProcessExitError, match="130"):
        stop(signal.SIGTERM, None)
    assert list(temporary_folder.iterdir()) == []
    assert calls == ["stop"]
