"""Files and folders that are never half-written.

Everything is written under a temporary name beside its place, flushed to the disk, and renamed. A folder that is to be
replaced is first renamed aside, so at each moment the old or the new one stands whole under one of these names:

    best                          the folder
    .best.weft-old                the one before, while the new one is put in its place
    .best.1f0c93aa.weft-partial   never whole: being written, or being removed

A process locks what it works on, so that others can tell a write in progress from one that was killed.
"""

import errno
import os
import re
import secrets
import shutil
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import BinaryIO, TypeAlias

from weft.core.errors import UserError
from weft.core.flushing import flush, flush_tree

if sys.platform != "win32":
    import fcntl

Writer: TypeAlias = Callable[[BinaryIO], object]

PARTIAL = re.compile(r"\..+\.[0-9a-f]{8}\.weft-partial")
OLD = re.compile(r"\.(?P<name>.+)\.weft-old")

FORBIDDEN = "there is no permission to write there; write elsewhere or change the permissions of the folder"
ADVICE = {
    errno.ENOSPC: "the disk is full; free some space or write to another disk",
    errno.EDQUOT: "the quota of this disk is used up; free some space or write to another disk",
    errno.EACCES: FORBIDDEN,
    errno.EPERM: FORBIDDEN,
    errno.EROFS: "the disk can only be read; write to another disk",
}


def write_atomically(path: Path, content: bytes | Writer) -> None:
    """Write the bytes, or what the writer writes into the open file; on any error the old file stays as it was.

    A device or a pipe, such as /dev/stdout, is written to as it is.
    """
    with advising(path):
        if path.exists() and not path.is_file() and not path.is_dir():
            with path.open("wb") as stream:
                _fill(stream, content)
            return
        place = place_of(path)
        if place.is_dir():
            raise UserError(f"{path}: is a folder, and a file should be written there; give another name")
        temporary = _partial_name(place)
        try:
            temporary.touch(exist_ok=False)
            with locked(temporary):
                _write(temporary, content)
                temporary.replace(place)
        except BaseException:
            temporary.unlink(missing_ok=True)
            raise
        flush(place.parent)


def _write(path: Path, content: bytes | Writer) -> None:
    with path.open("wb") as file:
        _fill(file, content)
        file.flush()
        os.fsync(file.fileno())


def _fill(file: BinaryIO, content: bytes | Writer) -> None:
    if isinstance(content, bytes):
        file.write(content)
    else:
        content(file)


@contextmanager
def atomic_folder(path: Path) -> Iterator[Path]:
    """A new empty folder to fill; when the block ends well it takes the place of `path`, otherwise nothing happened."""
    with advising(path):
        place = place_of(path)
        recover_folder(place)
        if place.exists() and not place.is_dir():
            raise UserError(f"{path}: is a file, and a folder should be written there; give another name")
        with partial_folder(place) as new:
            yield new
            flush_tree(new)
            _put_in_place(new, place)


@contextmanager
def partial_folder(place: Path) -> Iterator[Path]:
    """An empty folder beside a place, to fill and then to rename; it goes if the block fails."""
    temporary = _partial_name(place)
    try:
        temporary.mkdir()
        with locked(temporary):
            yield temporary
    except BaseException:
        shutil.rmtree(temporary, ignore_errors=True)
        raise


def _put_in_place(new: Path, place: Path) -> None:
    if not place.exists():
        new.rename(place)
        flush(place.parent)
        return
    aside = _old_name(place)
    with locked(place):
        place.rename(aside)
        try:
            new.rename(place)
        except BaseException:
            aside.rename(place)
            raise
        flush(place.parent)
        _discard(aside)


def standing(path: Path) -> Path:
    """For readers: where the folder is that has this name, or had it until a new one comes into its place."""
    if path.exists():
        return path
    aside = _old_name(path.resolve())
    return aside if aside.is_dir() else path


def recover_folder(path: Path) -> None:
    """For writers: bring back the folder that a killed process had renamed aside, unless a new one is in its place."""
    with advising(path):
        place = path.resolve()
        aside = _old_name(place)
        if aside.is_dir():
            with locked(aside) as free:
                if free:
                    _recover(aside, place)


def _recover(aside: Path, place: Path) -> None:
    if place.exists():
        _discard(aside)
    else:
        aside.rename(place)
        flush(place.parent)


def remove_leftovers(folder: Path) -> None:
    """Remove what killed processes left in `folder`, and recover folders there; writes in progress are not touched."""
    with advising(folder):
        for path in list(folder.iterdir()):
            if match := OLD.fullmatch(path.name):
                recover_folder(path.with_name(match["name"]))
            elif PARTIAL.fullmatch(path.name):
                _remove_if_free(path)


def _remove_if_free(path: Path) -> None:
    with locked(path) as free:
        if free:
            remove(path)


def _discard(folder: Path) -> None:
    """Remove a folder that may be whole: it first gets a name that says it no longer is."""
    doomed = _partial_name(folder)
    folder.rename(doomed)
    remove(doomed)


def remove(path: Path) -> None:
    if path.is_dir():
        shutil.rmtree(path, ignore_errors=True)  # what is left will be a leftover
    else:
        path.unlink(missing_ok=True)


def place_of(path: Path) -> Path:
    """Where the path really is: a link stays a link, and what it points to is replaced."""
    place = path.resolve()
    if not place.parent.is_dir():
        raise UserError(f"{path}: there is no folder {place.parent}; make it first")
    return place


def _partial_name(path: Path) -> Path:
    return path.with_name(f".{path.name}.{secrets.token_hex(4)}.weft-partial")


def _old_name(path: Path) -> Path:
    return path.with_name(f".{path.name}.weft-old")


@contextmanager
def locked(path: Path) -> Iterator[bool]:
    """Hold the lock of a file or folder, which follows it when it is renamed; False: somebody else may hold it."""
    if sys.platform == "win32":
        yield True  # no folder can be locked there, and no open file removed
        return
    with ExitStack() as stack:
        yield _lock(path, stack)


def _lock(path: Path, stack: ExitStack) -> bool:
    try:
        descriptor = os.open(path, os.O_RDONLY)
        stack.callback(os.close, descriptor)
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        return os.path.samestat(os.fstat(descriptor), path.stat())  # or another stands there by now
    except (BlockingIOError, FileNotFoundError, PermissionError):
        return False
    except OSError:
        return True  # this disk knows no locks (some network disks): nobody can hold one


@contextmanager
def advising(path: Path) -> Iterator[None]:
    """Say in plain words why nothing could be written at `path`."""
    try:
        yield
    except OSError as error:
        if error.errno not in ADVICE:
            raise
        raise UserError(f"{path}: {ADVICE[error.errno]}") from error
