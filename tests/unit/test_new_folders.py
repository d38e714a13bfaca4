"""Folders that are made once: what another process has put there meanwhile is never written into."""

from pathlib import Path

import pytest

from weft.core.errors import UserError
from weft.core.files import new_folder, path_lock

TAKEN = "another process has written there meanwhile"


def make(path: Path, text: str) -> None:
    with new_folder(path) as new:
        (new / "config").write_text(text)


def make_after(path: Path, another: Path) -> None:
    """Another process makes its folder while this one fills its own."""
    with new_folder(path) as new:
        (new / "config").write_text("second")
        make(another, "first")


def make_half(path: Path) -> None:
    with new_folder(path) as new:
        (new / "best").mkdir()
        (new / "best" / "config").write_text("half")
        raise KeyboardInterrupt


def everything(folder: Path) -> dict[str, str]:
    return {str(path.relative_to(folder)): path.read_text() if path.is_file() else "" for path in folder.rglob("*")}


def test_it_comes_with_those_above_it(tmp_path: Path) -> None:
    make(tmp_path / "a" / "run", "one")
    assert everything(tmp_path) == {"a": "", "a/run": "", "a/run/config": "one"}


def test_an_empty_one_is_filled_as_it_is(tmp_path: Path) -> None:
    (tmp_path / "run").mkdir()
    before = (tmp_path / "run").stat().st_ino
    make(tmp_path / "run", "one")
    assert (tmp_path / "run").stat().st_ino == before


def test_one_that_holds_something_is_left_alone(tmp_path: Path) -> None:
    make(tmp_path / "run", "first")
    with pytest.raises(UserError, match=f"^{tmp_path / 'run'}: {TAKEN}"):
        make(tmp_path / "run", "second")
    assert everything(tmp_path) == {"run": "", "run/config": "first"}


def test_one_that_came_while_this_was_filled_is_left_alone(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=f"^{tmp_path / 'run'}: {TAKEN}"):
        make_after(tmp_path / "run", tmp_path / "run")
    assert everything(tmp_path) == {"run": "", "run/config": "first"}


def test_one_that_came_at_the_last_moment_is_left_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """After the last look."""
    rename = Path.rename

    def late(path: Path, target: Path) -> Path:
        fill = tmp_path / "run" / "config"
        fill.parent.mkdir()
        fill.write_text("first")
        return rename(path, target)

    monkeypatch.setattr(Path, "rename", late)
    with pytest.raises(UserError, match=TAKEN):
        make(tmp_path / "run", "second")
    assert everything(tmp_path) == {"run": "", "run/config": "first"}


def test_an_empty_one_that_another_process_fills_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "run").mkdir()
    with path_lock(tmp_path / "run"), pytest.raises(UserError, match=TAKEN):
        make(tmp_path / "run", "second")
    assert everything(tmp_path) == {"run": ""}


def test_what_fails_leaves_nothing(tmp_path: Path) -> None:
    with pytest.raises(KeyboardInterrupt):
        make_half(tmp_path / "run")
    assert everything(tmp_path) == {}
    (tmp_path / "empty").mkdir()
    with pytest.raises(KeyboardInterrupt):
        make_half(tmp_path / "empty")
    assert everything(tmp_path) == {"empty": ""}
