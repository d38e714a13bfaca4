"""JSON and safetensors files of a folder; every error names the file and says what to do."""

import json
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

from pydantic import TypeAdapter, ValidationError
from safetensors import SafetensorError

from weft.core.errors import UserError
from weft.core.files import read_bounded, write_atomically

MAX_JSON_BYTES = 2**26  # these files describe a model; its weights are elsewhere
COPY_ADVICE = "copy the folder again or take another copy"

RecordT = TypeVar("RecordT")


def read_json_object(path: Path) -> dict[str, Any]:
    """The JSON object in a file; raise UserError if it cannot be read or holds something else."""
    try:
        node = json.loads(read_bounded(path, MAX_JSON_BYTES).decode("utf-8"))
    except OSError as error:
        raise UserError(f"{path}: cannot be read: {error.strerror}") from error
    except (ValueError, RecursionError) as error:
        raise UserError(f"{path}: is damaged: it is not JSON ({error}); {COPY_ADVICE}") from error
    if not isinstance(node, dict):
        raise UserError(f"{path}: is damaged: it should be an object; {COPY_ADVICE}")
    return node


def read_json_as(path: Path, kind: type[RecordT]) -> RecordT:
    """The JSON object in a file as a dataclass; unknown keys are ignored."""
    return parse_json_as(read_json_object(path), kind, path)


def parse_json_as(node: dict[str, Any], kind: type[RecordT], path: Path) -> RecordT:
    """A JSON object that was read from `path`, as a dataclass or pydantic model."""
    try:
        return TypeAdapter(kind).validate_python(node)
    except ValidationError as error:
        first = error.errors()[0]
        location = ".".join(str(part) for part in first["loc"])
        raise UserError(f"{path}: is damaged at {location} ({first['msg']}); {COPY_ADVICE}") from None


def write_json(path: Path, value: object) -> None:
    write_atomically(path, f"{json.dumps(value, indent=2, ensure_ascii=False)}\n".encode())


@contextmanager
def explain_save_errors(path: Path) -> Iterator[None]:
    """Raise a system error (such as a full disk), which safetensors wraps in its own class, as OSError again."""
    try:
        yield
    except SafetensorError as error:
        number = re.search(r"os error (\d+)", str(error))
        if number is None:
            raise
        raise OSError(int(number[1]), os.strerror(int(number[1])), str(path)) from error


@contextmanager
def explain_load_errors(path: Path) -> Iterator[None]:
    """Raise UserError if a safetensors file is damaged or has a dtype that the caller's library lacks.

    safetensors checks every size in the header against the file before it allocates memory.
    """
    try:
        yield
    except (SafetensorError, KeyError, TypeError, ValueError, AttributeError) as error:
        raise UserError(f"{path}: is not a readable safetensors file ({error}); {COPY_ADVICE}") from error
    except OSError as error:
        raise UserError(f"{path}: cannot be read: {error.strerror or error}") from error
