"""A private copy of a model folder: what is served stays what it is, whatever becomes of the folder."""

from __future__ import annotations

import shutil
import sys
import tempfile
from contextlib import ExitStack
from pathlib import Path

from weft.core.errors import UserError
from weft.store.files import locked
from weft.store.manifest import check_manifest
from weft.store.place import find_model, fingerprint

PREFIX = "weft-serve-"
KEPT: set[Snapshot] = set()  # all that this process has made and not removed


class Snapshot:
    """The copy, checked against its manifest, until it is removed. mark: equal for equal models.

    It is locked as long as it is needed, so that nobody who cleans up takes it away: neither the system, as
    systemd-tmpfiles does after ten days, nor another server.
    """

    def __init__(self, path: Path):
        self._stack = ExitStack()
        KEPT.add(self)
        try:
            self.folder = copied(find_model(path), self._place() / "model")
            self.mark = fingerprint(self.folder)
        except BaseException:
            self.remove()
            raise

    def remove(self) -> None:
        KEPT.discard(self)
        self._stack.close()

    def _place(self) -> Path:
        """A new folder. It gets its name once it is locked: what has the name and no lock, is left over."""
        made = Path(tempfile.mkdtemp(prefix=f".{PREFIX}"))
        self._stack.enter_context(locked(made))
        place = made.rename(made.with_name(made.name.removeprefix(".")))
        self._stack.callback(shutil.rmtree, place, ignore_errors=True)
        return place


def remove_all() -> None:
    """Every copy of this process, also where one is still being made or used."""
    for one in list(KEPT):
        one.remove()


def remove_leftovers() -> None:
    """The copies of servers that were killed."""
    if sys.platform == "win32":
        return  # no folder can be locked there, so that nobody knows
    for path in Path(tempfile.gettempdir()).glob(f"{PREFIX}*"):
        with locked(path) as free:
            if free:
                shutil.rmtree(path, ignore_errors=True)  # not where another person's is, or a link


def copied(model: Path, copy: Path) -> Path:
    """A whole copy; UserError if the folder is not whole, or changes while it is read."""
    try:
        shutil.copytree(model, copy)
    except OSError as error:
        raise UserError(f"{model}: cannot be copied, to be served from there: {error}") from error
    try:
        check_manifest(copy)
    except UserError as error:
        raise UserError(str(error).replace(str(copy), str(model))) from error
    return copy
