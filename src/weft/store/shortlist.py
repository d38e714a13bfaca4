"""The lexical shortlist of a model, kept in its folder: shortlist.safetensors."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from safetensors.numpy import load_file, save_file

from weft.core.errors import UserError
from weft.store.adding import changed_folder
from weft.store.manifest import COPY_AGAIN
from weft.store.place import SHORTLIST
from weft.store.tensors import loading, saving
from weft.text.shortlist import Shortlist


def save_shortlist(folder: Path, shortlist: Shortlist) -> None:
    """Put it into a model folder, in place of an older one."""
    with changed_folder(folder) as new:
        arrays: dict[str, NDArray[Any]] = {
            "always": shortlist.always,
            "starts": shortlist.starts,
            "listed": shortlist.listed,
        }
        with saving(new / SHORTLIST):
            save_file(arrays, new / SHORTLIST)


def load_shortlist(folder: Path) -> Shortlist:
    """That of a model folder, whose manifest has been checked."""
    if not has_shortlist(folder):
        raise UserError(f"{folder} has no shortlist: to learn one from its training data, weft shortlist {folder}")
    path = folder / SHORTLIST
    with loading(path):
        arrays = load_file(path)
    try:
        found = Shortlist(*(arrays[name] for name in ("always", "starts", "listed")))
    except KeyError as error:
        raise UserError(f"{path}: is no shortlist of Weft ({error}); {COPY_AGAIN}") from error
    if found.starts.size == 0 or found.starts[-1] != len(found.listed) or np.any(np.diff(found.starts) < 0):
        raise UserError(f"{path}: is no shortlist of Weft (its rows do not fit); {COPY_AGAIN}")
    return found


def has_shortlist(folder: Path) -> bool:
    return (folder / SHORTLIST).exists()
