"""The log once more as event files, for TensorBoard; its package is needed for that, and for nothing else."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from weft.config.recipe import Recipe
from weft.core.errors import ConfigError, Problem
from weft.store.run_log import read_records
from weft.training.ranks import Ranks

EVENTS = "tensorboard"  # the folder in that of a run
APART = ("step", "best", "seconds", "left")  # no curves


def check_board(recipe: Recipe, ranks: Ranks) -> None:
    """Raise a ConfigError if events are wanted and cannot be written."""
    if recipe.train.tensorboard and ranks.number == 0 and find_spec("tensorboard") is None:
        text = "true, but the package tensorboard is not installed: pip install 'weft[tensorboard]', or write false"
        raise ConfigError([Problem("train.tensorboard", text)])


class Board:
    """Writes what the log is told. A run that goes on begins another file, before which what came after its checkpoint
    is no longer shown.
    """

    def __init__(self, folder: Path, after_step: int):
        from torch.utils.tensorboard import SummaryWriter

        self._writer: Any = SummaryWriter(str(folder), purge_step=after_step + 1)

    def write(self, record: dict[str, Any]) -> None:
        step = record["step"]
        if "diagnosis" in record:
            self._text(f"diagnosis/{record['diagnosis']}", [record["what"], record["cause"], record["setting"]], step)
        elif "valid" in record:
            self._numbers("validation", record["valid"], step)
            for number, example in enumerate(record["valid"].get("examples", []), start=1):
                self._text(f"translations/{number}", list(example.values()), step)
        else:
            self._numbers("training", record, step)
        self._writer.flush()

    def _numbers(self, group: str, record: dict[str, Any], step: int) -> None:
        for name, value in record.items():
            if isinstance(value, int | float) and name not in APART:
                self._writer.add_scalar(f"{group}/{name}", value, step)

    def _text(self, name: str, lines: list[str], step: int) -> None:
        """As it is: what is indented is no markup."""
        self._writer.add_text(name, "\n".join(f"    {line}" for line in lines), step)

    def close(self) -> None:
        self._writer.close()


@contextmanager
def open_board(folder: Path, log: Path, after_step: int) -> Iterator[Board]:
    """Where there are no events yet, those of the log so far come first: they may be wanted later than the run."""
    is_new = not folder.exists()
    board = Board(folder, after_step)
    try:
        for record in read_records(log) if is_new else ():
            board.write(record)
        yield board
    finally:
        board.close()
