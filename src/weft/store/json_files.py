"""JSON files of a folder: objects, read within a limit."""

import json
from pathlib import Path
from typing import Any, TypeVar

from pydantic import TypeAdapter, ValidationError

from weft.core.bounded import read_bounded
from weft.core.errors import UserError
from weft.store.manifest import COPY_AGAIN

Wanted = TypeVar("Wanted")

LARGEST = 2**26  # bytes: these say in words what a model is; the numbers are elsewhere


def read_object(path: Path) -> dict[str, Any]:
    """The object in a file; a UserError that names the file if there is none."""
    try:
        node = json.loads(read_bounded(path, LARGEST).decode("utf-8"))
    except OSError as error:
        raise UserError(f"{path}: cannot be read: {error.strerror}") from error
    except (ValueError, RecursionError) as error:
        raise UserError(f"{path}: is damaged: it is no JSON ({error}); {COPY_AGAIN}") from error
    if not isinstance(node, dict):
        raise UserError(f"{path}: is damaged: it should be an object; {COPY_AGAIN}")
    return node


def read_as(path: Path, kind: type[Wanted]) -> Wanted:
    """The same as a dataclass; what else the object holds is passed over."""
    return as_kind(read_object(path), kind, path)


def as_kind(node: dict[str, Any], kind: type[Wanted], path: Path) -> Wanted:
    """The same of an object that was read already."""
    try:
        return TypeAdapter(kind).validate_python(node)
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(str(part) for part in first["loc"])
        raise UserError(f"{path}: is damaged at {place} ({first['msg']}); {COPY_AGAIN}") from None
