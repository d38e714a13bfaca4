"""Private, locked copies of served model folders: a served model does not change when its folder does."""

from __future__ import annotations

import shutil
import sys
import tempfile
from contextlib import ExitStack
from pathlib import Path

from weft.checkpoints.manifest import check_manifest
from weft.checkpoints.model_folder import find_model, folder_fingerprint
from weft.core.errors import UserError
from weft.core.files import path_lock

COPY_PREFIX = "weft-serve-"
ACTIVE_COPIES: set[ModelCopy] = set()  # of this process


class ModelCopy:
    """A copy of a model folder, checked against its manifest. `fingerprint` is equal for equal models.

    The copy is locked while it is in use, so that neither the system (systemd-tmpfiles after ten days) nor another
    server removes it.
    """

    def __init__(self, path: Path):
        self._stack = ExitStack()
        ACTIVE_COPIES.add(self)
        try:
            self.folder = _copy_model(find_model(path), self._make_folder() / "model")
            self.fingerprint = folder_fingerprint(self.folder)
        except BaseException:
            self.remove()
            raise

    def remove(self) -> None:
        ACTIVE_COPIES.discard(self)
        self._stack.close()

    def _make_folder(self) -> Path:
        """Make a folder that gets its final name once it is locked: a folder of that name without a lock is stale."""
        temporary = Path(tempfile.mkdtemp(prefix=f".{COPY_PREFIX}"))
        self._stack.enter_context(path_lock(temporary))
        folder = temporary.rename(temporary.with_name(temporary.name.removeprefix(".")))
        self._stack.callback(shutil.rmtree, folder, ignore_errors=True)
        return folder


def remove_model_copies() -> None:
    """Remove every copy of this process, even one that is still being made or used."""
    for copy in list(ACTIVE_COPIES):
        copy.remove()


def remove_stale_copies() -> None:
    """Remove the copies of servers that were killed."""
    if sys.platform == "win32":
        return  # folders cannot be locked there, so stale ones cannot be recognized
    for path in Path(tempfile.gettempdir()).glob(f"{COPY_PREFIX}*"):
        with path_lock(path) as is_free:
            if is_free:
                shutil.rmtree(path, ignore_errors=True)  # leaves links and the folders of other users


def _copy_model(model: Path, copy: Path) -> Path:
    """Copy a model folder. Raise UserError if it is incomplete or changes while it is copied."""
    try:
        shutil.copytree(model, copy)
    except OSError as error:
        raise UserError(f"{model}: cannot be copied: {error}") from error
    try:
        check_manifest(copy)
    except UserError as error:
        raise UserError(str(error).replace(str(copy), str(model))) from error
    return copy
