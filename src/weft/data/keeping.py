"""What took long to find out, kept in the cache as small files of JSON."""

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any
from uuid import uuid4

from weft.core.errors import UserError


def read_kept(path: Path) -> Any:
    """What the file says; None if there is none, or none that is whole."""
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None


def keep(path: Path, value: object) -> None:
    """Write the file under another name and rename it: whoever reads it meanwhile finds the old one, or the new."""
    with writing_to(path.parent):
        path.parent.mkdir(parents=True, exist_ok=True)
        unfinished = path.with_name(f"{path.name}.{uuid4().hex}")
        unfinished.write_text(json.dumps(value), encoding="utf-8")
        unfinished.replace(path)


def keep_if_possible(path: Path, value: object) -> None:
    """The same of what can be found out again: where nothing can be written, it is."""
    with suppress(UserError):
        keep(path, value)


def kept_count(path: Path, find: Callable[[], int]) -> int:
    """The number in the file; if there is none, it is found out, and kept there."""
    known = read_kept(path)
    if isinstance(known, int):
        return known
    found = find()
    keep_if_possible(path, found)
    return found


@contextmanager
def writing_to(folder: Path) -> Iterator[None]:
    """Say in plain words that a cache cannot be written."""
    try:
        yield
    except OSError as error:
        raise UserError(
            f"{folder}: the cache cannot be written ({error}); name another folder in data.cache"
        ) from error
