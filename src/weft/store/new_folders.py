"""Folders that a command makes: where something is already, nothing is ever written."""

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from weft.core.errors import UserError
from weft.core.flushing import flush, flush_tree
from weft.store.files import advising, locked, partial_folder, place_of, remove, remove_leftovers

THERE = (errno.EEXIST, errno.ENOTEMPTY, errno.ENOTDIR)  # what a rename says that would replace something


class TakenError(UserError):
    """Another process came before."""

    def __init__(self, path: Path):
        super().__init__(
            f"{path}: another process has written there meanwhile, and nothing is ever written over. Use what it "
            "makes, or start again with another folder"
        )


def check_free(path: Path, taken: str, option: str) -> None:
    """Before any work: the folder can be made, and one that already holds something is never written into.

    taken: what to say of one that does. option: the option with which a person names another.
    """
    if path.exists() and (not path.is_dir() or any(path.iterdir())):
        raise UserError(f"{path} exists already{taken}")
    above = next(folder for folder in (path, *path.absolute().parents) if folder.exists())
    if not above.is_dir() or not os.access(above, os.W_OK):
        raise UserError(f"{path} cannot be made: {above} is no folder that can be written to. Give another {option}.")


@contextmanager
def new_folder(path: Path) -> Iterator[Path]:
    """A folder to fill, with those above it; what another process has put there since `check_free` stays as it is.

    It is filled under another name, and renamed when it is whole. One that is there and empty is filled as it is: it
    may be a disk of its own, or where a person stands.
    """
    with advising(path), _empty(path) if path.is_dir() else _absent(path) as new:
        yield new


@contextmanager
def _empty(path: Path) -> Iterator[Path]:
    with locked(path) as free:
        if not free or any(path.iterdir()):
            raise TakenError(path)
        try:
            yield path
            flush_tree(path)
        except BaseException:
            for inside in path.iterdir():  # all of it is ours
                remove(inside)
            raise


@contextmanager
def _absent(path: Path) -> Iterator[Path]:
    above = path.absolute().parent
    above.mkdir(parents=True, exist_ok=True)
    remove_leftovers(above)
    place = place_of(path)
    with partial_folder(place) as new:
        yield new
        flush_tree(new)
        if place.exists():
            raise TakenError(path)
        try:
            new.rename(place)  # what holds something would not be replaced
        except OSError as error:
            if error.errno in THERE:
                raise TakenError(path) from None
            raise
        flush(place.parent)
