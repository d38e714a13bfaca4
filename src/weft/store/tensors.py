"""Files of tensors. The library checks every size in their header against the file before it takes memory."""

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from safetensors import SafetensorError

from weft.core.errors import UserError
from weft.store.manifest import COPY_AGAIN


@contextmanager
def saving(path: Path) -> Iterator[None]:
    """What the system refuses (a full disk ...) is the library's own error in there, and the system's out here."""
    try:
        yield
    except SafetensorError as error:
        number = re.search(r"os error (\d+)", str(error))
        if number is None:
            raise
        raise OSError(int(number[1]), os.strerror(int(number[1])), str(path)) from error


@contextmanager
def loading(path: Path) -> Iterator[None]:
    """What is wrong with the file is told; a kind of number that the caller's library lacks, too."""
    try:
        yield
    except (SafetensorError, KeyError, TypeError, ValueError, AttributeError) as error:
        raise UserError(f"{path}: is no file of tensors that can be read ({error}); {COPY_AGAIN}") from error
    except OSError as error:
        raise UserError(f"{path}: cannot be read: {error.strerror or error}") from error
