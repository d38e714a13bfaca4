"""A run folder, as those see it who work with what is in it."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from weft.core.errors import UserError
from weft.store.files import locked

CONFIG = "config.yaml"  # makes a folder that of a run


def run_of(path: Path) -> Path | None:
    """The run folder that a path names, or that the model folder is in which it names; None for any other."""
    return next((folder for folder in (path, path.resolve().parent) if (folder / CONFIG).is_file()), None)


@contextmanager
def alone_in(folder: Path) -> Iterator[None]:
    """Two processes that write into one run, or into one model, would spoil it: who does locks it first."""
    with locked(folder) as free:
        if not free:
            raise UserError(
                f"{folder}: another process is writing there (it trains this run, or adds something to a model of it); "
                "stop it first, or wait."
            )
        yield
