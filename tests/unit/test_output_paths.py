"""Output paths: inputs are never overwritten, and folders of other processes are not written into."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from weft.core.errors import UserError
from weft.core.files import check_output_file, check_output_files, new_folder, path_lock

TAKEN = "another process has written there meanwhile"


def make(path: Path, text: str) -> None:
    with new_folder(path) as new:
        (new / "config").write_text(text)


def make_while_another_process_writes(path: Path, another: Path) -> None:
    """Another process creates its folder while this process fills its own."""
    with new_folder(path) as new:
        (new / "config").write_text("second")
        make(another, "first")


def make_and_interrupt(path: Path) -> None:
    with new_folder(path) as new:
        (new / "best").mkdir()
        (new / "best" / "config").write_text("half")
        raise KeyboardInterrupt


def folder_content(folder: Path) -> dict[str, str]:
    return {str(path.relative_to(folder)): path.read_text() if path.is_file() else "" for path in folder.rglob("*")}


def test_parent_folders_are_created(tmp_path: Path) -> None:
    make(tmp_path / "a" / "run", "one")
    assert folder_content(tmp_path) == {"a": "", "a/run": "", "a/run/config": "one"}


def test_empty_folder_is_reused(tmp_path: Path) -> None:
    (tmp_path / "run").mkdir()
    before = (tmp_path / "run").stat().st_ino
    make(tmp_path / "run", "one")
    assert (tmp_path / "run").stat().st_ino == before


def test_folder_with_content_is_rejected(tmp_path: Path) -> None:
    make(tmp_path / "run", "first")
    with pytest.raises(UserError, match=f"^{tmp_path / 'run'}: {TAKEN}"):
        make(tmp_path / "run", "second")
    assert folder_content(tmp_path) == {"run": "", "run/config": "first"}


def test_folder_created_meanwhile_is_not_changed(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=f"^{tmp_path / 'run'}: {TAKEN}"):
        make_while_another_process_writes(tmp_path / "run", tmp_path / "run")
    assert folder_content(tmp_path) == {"run": "", "run/config": "first"}


def test_folder_created_at_the_last_moment_is_not_changed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Created after the last check."""
    rename = Path.rename

    def create_then_rename(path: Path, target: Path) -> Path:
        fill = tmp_path / "run" / "config"
        fill.parent.mkdir()
        fill.write_text("first")
        return rename(path, target)

    monkeypatch.setattr(Path, "rename", create_then_rename)
    with pytest.raises(UserError, match=TAKEN):
        make(tmp_path / "run", "second")
    assert folder_content(tmp_path) == {"run": "", "run/config": "first"}


def test_empty_folder_locked_by_another_process_is_rejected(tmp_path: Path) -> None:
    (tmp_path / "run").mkdir()
    with path_lock(tmp_path / "run"), pytest.raises(UserError, match=TAKEN):
        make(tmp_path / "run", "second")
    assert folder_content(tmp_path) == {"run": ""}


def test_failure_leaves_no_files(tmp_path: Path) -> None:
    with pytest.raises(KeyboardInterrupt):
        make_and_interrupt(tmp_path / "run")
    assert folder_content(tmp_path) == {}
    (tmp_path / "empty").mkdir()
    with pytest.raises(KeyboardInterrupt):
        make_and_interrupt(tmp_path / "empty")
    assert folder_content(tmp_path) == {"empty": ""}


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "text.txt"
    path.write_text("a line\n", "utf-8")
    return path


@contextmanager
def standard_input(path: Path) -> Iterator[None]:
    """Redirect standard input, as `< path` in a shell."""
    before = os.dup(0)
    with path.open("rb") as opened:
        os.dup2(opened.fileno(), 0)
    try:
        yield
    finally:
        os.dup2(before, 0)
        os.close(before)


def test_input_file_is_rejected_as_output(file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "link").symlink_to(file)
    for output in (file, tmp_path / "link", Path("text.txt"), tmp_path / "." / "text.txt"):
        with pytest.raises(UserError, match=rf"^{output}: is read from, .*; name another file$"):
            check_output_file(output, [Path("another"), file])


def test_output_files_must_differ(file: Path, tmp_path: Path) -> None:
    new, other = tmp_path / "new", tmp_path / "other"
    check_output_files([new, None, other], [file, None])
    with pytest.raises(UserError, match=r"text\.txt: is read from"):
        check_output_files([new, file], [file])
    with pytest.raises(UserError, match="new: is to be written twice; name another file for one of the two"):
        check_output_files([new, tmp_path / "." / "new"], [file])


def test_redirected_standard_input_is_rejected_as_output(file: Path) -> None:
    check_output_file(file, [None])
    with standard_input(file), pytest.raises(UserError, match=r"text\.txt: is read from"):
        check_output_file(file, [None])


def test_other_files_and_devices_are_accepted_as_output(file: Path, tmp_path: Path) -> None:
    (tmp_path / "same").write_text("a line\n", "utf-8")
    for output in (None, tmp_path / "same", tmp_path / "new", Path("/dev/null"), tmp_path):
        check_output_file(output, [file, tmp_path, Path("/dev/null"), None])


def test_long_sentence_is_not_taken_for_a_file(file: Path) -> None:
    check_output_file(file, [Path("a very long sentence " * 300)])
