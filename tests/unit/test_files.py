"""Atomic files and folders: errors, full disks and kills at every moment leave nothing half-written."""

import errno
import fcntl
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import BinaryIO

import pytest

from weft.core.errors import UserError
from weft.core.files import atomic_folder, path_lock, recover_folder, remove_leftovers, similar_path, write_atomically


def content(folder: Path) -> dict[str, str]:
    """Return the text of every file below the folder, hidden ones included."""
    return {path.relative_to(folder).as_posix(): path.read_text() for path in folder.rglob("*") if path.is_file()}


def fill(folder: Path, text: str) -> None:
    (folder / "sub").mkdir(parents=True)
    (folder / "a").write_text(text)
    (folder / "sub" / "b").write_text(text)


def fail_inside_block(path: Path, error: BaseException) -> None:
    with atomic_folder(path) as new:
        (new / "only").write_text("half")
        raise error


def test_content_may_be_bytes_or_a_writer(tmp_path: Path) -> None:
    write_atomically(tmp_path / "a", b"one")
    assert content(tmp_path) == {"a": "one"}
    write_atomically(tmp_path / "a", lambda file: file.write(b"two"))
    assert content(tmp_path) == {"a": "two"}


def test_file_has_the_default_permissions(tmp_path: Path) -> None:
    (tmp_path / "usual").write_bytes(b"")
    write_atomically(tmp_path / "ours", b"")
    assert (tmp_path / "ours").stat().st_mode == (tmp_path / "usual").stat().st_mode


def test_symbolic_link_is_preserved(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(tmp_path / "file")
    write_atomically(tmp_path / "link", b"new")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "file").read_bytes() == b"new"


@pytest.mark.parametrize("error", [ValueError("bug"), KeyboardInterrupt(), OSError(errno.EIO, "broken")])
def test_failing_writer_leaves_the_old_file(tmp_path: Path, error: BaseException) -> None:
    def fail(file: BinaryIO) -> None:
        file.write(b"half")
        raise error

    write_atomically(tmp_path / "a", b"old")
    with pytest.raises(type(error)):
        write_atomically(tmp_path / "a", fail)
    assert content(tmp_path) == {"a": "old"}


@pytest.mark.parametrize(
    ("number", "text"),
    [
        (errno.ENOSPC, "the disk is full; free some space"),
        (errno.EDQUOT, "the quota of this disk is used up"),
        (errno.EACCES, "there is no permission to write there"),
        (errno.EROFS, "the disk can only be read"),
    ],
)
def test_operating_system_errors_are_reported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int, text: str
) -> None:
    def refuse(descriptor: int) -> None:
        raise OSError(number, os.strerror(number))

    write_atomically(tmp_path / "a", b"old")
    fill(tmp_path / "best", "old")
    before = content(tmp_path)
    monkeypatch.setattr(os, "fsync", refuse)
    with pytest.raises(UserError, match=f"^{tmp_path / 'a'}: {text}"):
        write_atomically(tmp_path / "a", b"new")
    with pytest.raises(UserError, match=f"^{tmp_path / 'best'}: {text}"), atomic_folder(tmp_path / "best") as new:
        fill(new / "x", "new")
    assert content(tmp_path) == before


def test_full_disk_inside_the_block_is_reported(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="best: the disk is full"):
        fail_inside_block(tmp_path / "best", OSError(errno.ENOSPC, "No space left on device"))
    assert list(tmp_path.iterdir()) == []


def test_invalid_paths_are_reported(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "file").write_text("")
    with pytest.raises(UserError, match="is a folder, and a file should be written there"):
        write_atomically(tmp_path / "folder", b"")
    with pytest.raises(UserError, match="is a file, and a folder should be written there"):
        atomic_folder(tmp_path / "file").__enter__()
    with pytest.raises(UserError, match=f"there is no folder {tmp_path / 'none'}; make it first"):
        write_atomically(tmp_path / "none" / "a", b"")
    with pytest.raises(UserError, match="there is no folder"):
        atomic_folder(tmp_path / "none" / "a").__enter__()


def test_folder_appears_complete(tmp_path: Path) -> None:
    with atomic_folder(tmp_path / "best") as new:
        fill(new / "x", "one")
        assert not (tmp_path / "best").exists()
    assert content(tmp_path) == {"best/x/a": "one", "best/x/sub/b": "one"}


def test_folder_is_replaced_as_a_whole(tmp_path: Path) -> None:
    fill(tmp_path / "best", "old")
    with atomic_folder(tmp_path / "best") as new:
        (new / "only").write_text("new")
        assert content(tmp_path / "best") == {"a": "old", "sub/b": "old"}
    assert content(tmp_path) == {"best/only": "new"}
    assert [path.name for path in tmp_path.iterdir()] == ["best"]


def test_error_inside_the_block_leaves_the_old_folder(tmp_path: Path) -> None:
    fill(tmp_path / "best", "old")
    with pytest.raises(KeyboardInterrupt):
        fail_inside_block(tmp_path / "best", KeyboardInterrupt())
    assert content(tmp_path) == {"best/a": "old", "best/sub/b": "old"}


def test_failed_rename_restores_the_old_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fill(tmp_path / "best", "old")
    rename = Path.rename

    def refuse(path: Path, target: Path) -> Path:
        if path.name.endswith(".weft-partial"):
            raise OSError(errno.EIO, "broken")
        return rename(path, target)

    monkeypatch.setattr(Path, "rename", refuse)
    with pytest.raises(OSError, match="broken"), atomic_folder(tmp_path / "best") as new:
        (new / "only").write_text("new")
    assert content(tmp_path) == {"best/a": "old", "best/sub/b": "old"}


KILLED = """
import os, shutil, signal, sys
from pathlib import Path
from weft.core import files

def counted(function):
    def call(*arguments, **options):
        global left
        if left == 0:
            os.kill(os.getpid(), signal.SIGKILL)
        left -= 1
        return function(*arguments, **options)
    return call

left = int(sys.argv[2])
Path.rename, Path.mkdir, os.fsync = counted(Path.rename), counted(Path.mkdir), counted(os.fsync)
os.unlink, os.rmdir = counted(os.unlink), counted(os.rmdir)
with files.atomic_folder(Path(sys.argv[1])) as new:
    (new / "sub").mkdir()
    for name in ("a", "sub/b"):
        (new / name).write_text("new")
"""


def run_killed(path: Path, calls: int) -> int:
    """Replace the folder in a process that is killed before its n-th call that changes the disk."""
    return subprocess.run([sys.executable, "-c", KILLED, str(path), str(calls)], check=False).returncode


def test_kill_at_any_moment_leaves_the_old_or_the_new_folder_complete(tmp_path: Path) -> None:
    versions = []
    for calls in range(99):
        home = tmp_path / str(calls)
        fill(home / "best", "old")
        exit_code = run_killed(home / "best", calls)
        assert content(home / ".best.weft-old") in ({}, {"a": "old", "sub/b": "old"})
        recover_folder(home / "best")
        found = content(home / "best")
        assert found in ({"a": "old", "sub/b": "old"}, {"a": "new", "sub/b": "new"})
        versions.append(found["a"])
        remove_leftovers(home)
        assert [path.name for path in home.iterdir()] == ["best"]
        if exit_code == 0:
            break
        assert exit_code == -signal.SIGKILL
    assert len(versions) > 10
    assert versions == sorted(versions, reverse=True)  # old until the renames, new after them
    assert {"old", "new"} == set(versions)


def test_interrupted_swap_is_recovered_by_the_next_write(tmp_path: Path) -> None:
    fill(tmp_path / ".best.weft-old", "old")
    with pytest.raises(ValueError):
        fail_inside_block(tmp_path / "best", ValueError())
    assert content(tmp_path) == {"best/a": "old", "best/sub/b": "old"}


def test_recovery_removes_the_old_folder_if_the_new_one_is_in_place(tmp_path: Path) -> None:
    fill(tmp_path / ".best.weft-old", "old")
    fill(tmp_path / "best", "new")
    recover_folder(tmp_path / "best")
    assert content(tmp_path) == {"best/a": "new", "best/sub/b": "new"}


def test_only_leftovers_are_removed(tmp_path: Path) -> None:
    fill(tmp_path / ".best.0123abcd.weft-partial", "half")
    (tmp_path / ".log.89abcdef.weft-partial").write_text("half")
    fill(tmp_path / ".last.weft-old", "old")
    for name in (".hidden", "a.weft-partial", ".x.weft-partial"):
        (tmp_path / name).write_text("mine")
    remove_leftovers(tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir()) == [".hidden", ".x.weft-partial", "a.weft-partial", "last"]


def test_write_in_progress_is_not_removed(tmp_path: Path) -> None:
    def write(file: BinaryIO) -> None:
        remove_leftovers(tmp_path)
        file.write(b"whole")

    with atomic_folder(tmp_path / "best") as new:
        write_atomically(tmp_path / "a", write)
        (new / "b").write_text("whole")
        remove_leftovers(tmp_path)
    assert content(tmp_path) == {"a": "whole", "best/b": "whole"}


def test_lock_of_a_replaced_folder_is_not_free(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another process replaces the folder after it was opened and before it is locked."""
    flock = fcntl.flock
    (tmp_path / "best").mkdir()

    def replace_then_lock(descriptor: int, operation: int) -> None:
        (tmp_path / "best").rename(tmp_path / "old")
        (tmp_path / "best").mkdir()
        flock(descriptor, operation)

    monkeypatch.setattr(fcntl, "flock", replace_then_lock)
    with path_lock(tmp_path / "best") as free:
        assert not free


def test_swap_in_progress_is_not_undone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fill(tmp_path / "best", "old")
    rename = Path.rename

    def rename_and_recover(path: Path, target: Path) -> Path:
        moved = rename(path, target)
        recover_folder(tmp_path / "best")  # another process could do so at any moment of the swap
        return moved

    monkeypatch.setattr(Path, "rename", rename_and_recover)
    with atomic_folder(tmp_path / "best") as new:
        (new / "only").write_text("new")
    assert content(tmp_path) == {"best/only": "new"}


def test_missing_path_suggests_the_most_similar_one(tmp_path: Path) -> None:
    (tmp_path / "runs" / "english-german").mkdir(parents=True)
    (tmp_path / "runs" / "english-german" / "best").mkdir()
    expected = f"; did you mean {tmp_path / 'runs' / 'english-german'}?"
    assert similar_path(tmp_path / "runs" / "english-germn") == expected
    assert similar_path(tmp_path / "run" / "english-german") == expected
    assert similar_path(tmp_path / "runs" / "french") == ""
    assert similar_path(tmp_path / "nothing" / "here" / "at-all") == ""
