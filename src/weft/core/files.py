"""Files and folders that are never half-written: bounded reads, atomic writes, locks and new output folders.

Everything is written under a temporary name next to its target, flushed to the disk, and renamed. A folder that is to
be replaced is first renamed aside, so that at each moment the old or the new one is complete under one of these names:

    best                          the folder
    .best.weft-old                the previous one, while the new one is moved into its place
    .best.1f0c93aa.weft-partial   incomplete: being written or being removed

A process locks what it works on, so that others can tell a write in progress from one that was killed.
"""

from __future__ import annotations

import errno
import os
import re
import secrets
import shutil
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from operator import methodcaller
from pathlib import Path
from typing import BinaryIO, TypeAlias

from weft.core.errors import UserError
from weft.core.formatting import close_names

if sys.platform != "win32":
    import fcntl

FileWriter: TypeAlias = Callable[[BinaryIO], object]

MAX_FILE_BYTES = 2**28  # a tokenizer of a million tokens has 2**26 bytes
PARTIAL_PATTERN = re.compile(r"\..+\.[0-9a-f]{8}\.weft-partial")
OLD_PATTERN = re.compile(r"\.(?P<name>.+)\.weft-old")
STANDARD_INPUT = Path("/dev/stdin")
EXISTS_ERRORS = (errno.EEXIST, errno.ENOTEMPTY, errno.ENOTDIR)  # of a rename that would replace something
NO_PERMISSION = "there is no permission to write there; write elsewhere or change the permissions of the folder"
WRITE_ADVICE = {
    errno.ENOSPC: "the disk is full; free some space or write to another disk",
    errno.EDQUOT: "the quota of this disk is used up; free some space or write to another disk",
    errno.EACCES: NO_PERMISSION,
    errno.EPERM: NO_PERMISSION,
    errno.EROFS: "the disk can only be read; write to another disk",
}


def read_bounded(path: Path, max_bytes: int = MAX_FILE_BYTES) -> bytes:
    """Return the content of a file; raise UserError if it is larger than a valid one can be."""
    size = path.stat().st_size if path.is_file() else 0  # the size of a pipe is unknown
    with path.open("rb") as file:
        content = file.read(max_bytes + 1) if size <= max_bytes else b""
    if max(size, len(content)) > max_bytes:
        raise UserError(f"{path}: is too large (more than {max_bytes:,} bytes); is it the right file?")
    return content


def fsync_tree(folder: Path) -> None:
    """Flush everything in the folder to the disk, then the folder itself."""
    for path in folder.rglob("*"):
        if not path.is_symlink():
            fsync_path(path)
    fsync_path(folder)


def fsync_path(path: Path) -> None:
    """Flush a file's content, or the names in a folder, to the disk."""
    if sys.platform == "win32":
        return  # Windows flushes neither folders nor files that are open for reading
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def write_atomically(path: Path, content: bytes | FileWriter) -> None:
    """Write the bytes, or call the writer with the open file; on any error the old file is unchanged.

    A device or a pipe, such as /dev/stdout, is written to directly.
    """
    write = methodcaller("write", content) if isinstance(content, bytes) else content
    with explain_write_errors(path):
        if path.exists() and not path.is_file() and not path.is_dir():
            with path.open("wb") as stream:
                write(stream)
            return
        target = resolve_target(path)
        if target.is_dir():
            raise UserError(f"{path}: is a folder, and a file should be written there; give another name")
        temporary = _partial_name(target)
        try:
            temporary.touch(exist_ok=False)
            with path_lock(temporary):
                with temporary.open("wb") as file:
                    write(file)
                    file.flush()
                    os.fsync(file.fileno())
                temporary.replace(target)
        except BaseException:
            temporary.unlink(missing_ok=True)
            raise
        fsync_path(target.parent)


@contextmanager
def atomic_folder(path: Path) -> Iterator[Path]:
    """Yield a new empty folder, which replaces `path` if the block succeeds and is removed if it fails."""
    with explain_write_errors(path):
        target = resolve_target(path)
        recover_folder(target)
        if target.exists() and not target.is_dir():
            raise UserError(f"{path}: is a file, and a folder should be written there; give another name")
        with partial_folder(target) as new:
            yield new
            fsync_tree(new)
            _replace_folder(new, target)


@contextmanager
def partial_folder(target: Path) -> Iterator[Path]:
    """Yield an empty folder next to the target, to fill and then to rename; remove it if the block fails."""
    temporary = _partial_name(target)
    try:
        temporary.mkdir()
        with path_lock(temporary):
            yield temporary
    except BaseException:
        shutil.rmtree(temporary, ignore_errors=True)
        raise


def _replace_folder(new: Path, target: Path) -> None:
    if not target.exists():
        new.rename(target)
        fsync_path(target.parent)
        return
    old = _old_name(target)
    with path_lock(target):
        target.rename(old)
        try:
            new.rename(target)
        except BaseException:
            old.rename(target)
            raise
        fsync_path(target.parent)
        _discard(old)


def readable_folder(path: Path) -> Path:
    """Return where to read the folder: under its name, or the old one while it is being replaced."""
    if path.exists():
        return path
    old = _old_name(path.resolve())
    return old if old.is_dir() else path


def recover_folder(path: Path) -> None:
    """Restore the old folder that a killed process had renamed aside, or remove it if there is a new one."""
    with explain_write_errors(path):
        target = path.resolve()
        old = _old_name(target)
        if not old.is_dir():
            return
        with path_lock(old) as is_free:
            if is_free and target.exists():
                _discard(old)
            elif is_free:
                old.rename(target)
                fsync_path(target.parent)


def remove_leftovers(folder: Path) -> None:
    """Remove what killed processes left in `folder` and recover folders there; writes in progress are not touched."""
    with explain_write_errors(folder):
        for path in list(folder.iterdir()):
            if match := OLD_PATTERN.fullmatch(path.name):
                recover_folder(path.with_name(match["name"]))
            elif PARTIAL_PATTERN.fullmatch(path.name):
                with path_lock(path) as is_free:
                    if is_free:
                        remove_path(path)


def _discard(folder: Path) -> None:
    """Mark a complete folder as partial, then remove it."""
    partial = _partial_name(folder)
    folder.rename(partial)
    remove_path(partial)


def remove_path(path: Path) -> None:
    if path.is_dir():
        shutil.rmtree(path, ignore_errors=True)  # the rest is a leftover
    else:
        path.unlink(missing_ok=True)


def similar_path(path: Path) -> str:
    """Return `; did you mean "runs/first"?` for a missing path if a name in its folder is close, else an empty string.

    If the folder is missing too, its own name is corrected first.
    """
    parent = path.parent
    if not parent.is_dir():
        parent = next((parent.with_name(name) for name in close_names(parent.name, _names(parent.parent))), parent)
    for name in close_names(path.name, _names(parent)) or [path.name]:
        if (parent / name).exists():
            return f"; did you mean {parent / name}?"
    return ""


def _names(folder: Path) -> list[str]:
    """The names in a folder that exists and can be read, without hidden ones."""
    try:
        return sorted(path.name for path in folder.iterdir() if not path.name.startswith("."))
    except OSError:
        return []


def resolve_target(path: Path) -> Path:
    """Follow links, so that what a link points to is replaced, not the link; raise if the parent does not exist."""
    target = path.resolve()
    if not target.parent.is_dir():
        raise UserError(f"{path}: there is no folder {target.parent}; make it first")
    return target


def _partial_name(path: Path) -> Path:
    return path.with_name(f".{path.name}.{secrets.token_hex(4)}.weft-partial")


def _old_name(path: Path) -> Path:
    return path.with_name(f".{path.name}.weft-old")


@contextmanager
def path_lock(path: Path) -> Iterator[bool]:
    """Lock a file or folder, also when it is renamed; yield False if another process may have locked it."""
    if sys.platform == "win32":
        yield True  # Windows can neither lock a folder nor remove an open file
        return
    with ExitStack() as stack:
        yield _acquire_lock(path, stack)


def _acquire_lock(path: Path, stack: ExitStack) -> bool:
    try:
        descriptor = os.open(path, os.O_RDONLY)
        stack.callback(os.close, descriptor)
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        return os.path.samestat(os.fstat(descriptor), path.stat())  # False: something else has that name by now
    except (BlockingIOError, FileNotFoundError, PermissionError):
        return False
    except OSError:
        return True  # some network disks have no locks: no other process can have one


@contextmanager
def explain_write_errors(path: Path) -> Iterator[None]:
    """Raise UserError with advice where the system refuses to write at `path`."""
    try:
        yield
    except OSError as error:
        if error.errno not in WRITE_ADVICE:
            raise
        raise UserError(f"{path}: {WRITE_ADVICE[error.errno]}") from error


class FolderTakenError(UserError):
    """Another process has created the folder first."""

    def __init__(self, path: Path):
        super().__init__(
            f"{path}: another process has written there meanwhile, and nothing is ever written over. Use what it "
            "makes, or start again with another folder"
        )


def check_new_folder(path: Path, advice: str, option: str) -> None:
    """Raise UserError, before any work is done, if the folder cannot be created or already contains something.

    advice: the end of the message about an existing folder. option: the option that names another one.
    """
    if path.exists() and (not path.is_dir() or any(path.iterdir())):
        raise UserError(f"{path} exists already{advice}")
    parent = next(folder for folder in (path, *path.absolute().parents) if folder.exists())
    if not parent.is_dir() or not os.access(parent, os.W_OK):
        raise UserError(f"{path} cannot be made: {parent} is no folder that can be written to. Give another {option}.")


@contextmanager
def new_folder(path: Path) -> Iterator[Path]:
    """Yield a folder to fill, creating its parents; what another process has put there meanwhile is not touched.

    It is filled under a temporary name and renamed when it is complete. An existing empty folder is filled in place:
    it may be a mounted disk or somebody's working directory.
    """
    with explain_write_errors(path), _fill_empty_folder(path) if path.is_dir() else _create_folder(path) as new:
        yield new


@contextmanager
def _fill_empty_folder(path: Path) -> Iterator[Path]:
    with path_lock(path) as is_free:
        if not is_free or any(path.iterdir()):
            raise FolderTakenError(path)
        try:
            yield path
            fsync_tree(path)
        except BaseException:
            for child in path.iterdir():  # the folder was empty: all of it is ours
                remove_path(child)
            raise


@contextmanager
def _create_folder(path: Path) -> Iterator[Path]:
    parent = path.absolute().parent
    parent.mkdir(parents=True, exist_ok=True)
    remove_leftovers(parent)
    target = resolve_target(path)
    with partial_folder(target) as new:
        yield new
        fsync_tree(new)
        if target.exists():
            raise FolderTakenError(path)
        try:
            new.rename(target)  # fails if the target contains something
        except OSError as error:
            if error.errno in EXISTS_ERRORS:
                raise FolderTakenError(path) from None
            raise
        fsync_path(target.parent)


def check_output_file(output: Path | None, inputs: Iterable[Path | None]) -> None:
    check_output_files([output], inputs)


def check_result_file(output: Path | None, inputs: Iterable[Path | None]) -> None:
    """Raise UserError, before the work, if the result cannot be written to this file or would replace an input."""
    check_output_file(output, inputs)
    if output is not None and resolve_target(output).is_dir():
        raise UserError(f"{output}: is a folder, and a file should be written there; give another name")


def check_output_files(outputs: Sequence[Path | None], inputs: Iterable[Path | None]) -> None:
    """Raise UserError if a file to write is also read, or is to be written twice; None is a standard stream."""
    files = [file or STANDARD_INPUT for file in inputs]
    written = [output for output in outputs if output is not None]
    for number, output in enumerate(written):
        if any(_is_same_file(output, file) for file in files):
            raise UserError(f"{output}: is read from, so it would be lost if it were written to; name another file")
        if any(output.resolve() == other.resolve() for other in written[:number]):
            raise UserError(f"{output}: is to be written twice; name another file for one of the two")


def _is_same_file(output: Path, file: Path) -> bool:
    """Whether both names are of one regular file; a device or a pipe loses nothing."""
    try:
        return output.is_file() and output.samefile(file)
    except OSError:  # it does not exist, or what may be a name is a whole sentence
        return False
