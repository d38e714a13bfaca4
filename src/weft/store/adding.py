"""A file more in a model folder."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path

from weft.core.errors import UserError
from weft.store.files import atomic_folder, recover_folder
from weft.store.manifest import Manifest, check_manifest, write_manifest
from weft.store.place import find_model, places
from weft.store.runs import alone_in, run_of


@contextmanager
def changing(path: Path) -> Iterator[Path]:
    """The model folder itself, or that of a run folder, which no other process changes meanwhile."""
    run = run_of(path)
    with nullcontext() if run is None else alone_in(run):
        for place in places(path):
            recover_folder(place)
        folder = find_model(path)
        with alone_in(folder):
            yield folder


@contextmanager
def changed_folder(folder: Path) -> Iterator[Path]:
    """A copy of a model folder to put something into; it takes the folder's place as a whole, with a new manifest."""
    manifest = check_manifest(folder)
    with atomic_folder(folder) as new:
        _copy(folder, manifest, new)
        yield new
        write_manifest(new, manifest.extra)


def _copy(folder: Path, manifest: Manifest, new: Path) -> None:
    """Files that do not belong together never get a manifest that says they do."""
    try:
        shutil.copytree(folder, new, dirs_exist_ok=True, ignore=shutil.ignore_patterns(".*"))
        same = check_manifest(new) == manifest
    except (shutil.Error, UserError):
        same = False
    if not same:
        raise UserError(f"{folder}: was changed by another process while it was copied; start again")
