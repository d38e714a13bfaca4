"""Progress as JSON lines: one object a line, in the order of the steps."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from weft.store.files import write_atomically
from weft.store.run_log import record_of
from weft.training.board import Board, open_board
from weft.training.ranks import Ranks


class Log(Protocol):
    def write(self, record: dict[str, Any]) -> None: ...


class Written:
    """Appends to the run's log. On resuming, what came after the checkpoint is cut off: it will be written again."""

    def __init__(self, path: Path, after_step: int):
        self.path = path
        if path.exists():
            kept = [line for line in path.read_bytes().split(b"\n") if before(line, after_step)]
            write_atomically(path, b"".join(line + b"\n" for line in kept))

    def write(self, record: dict[str, Any]) -> None:
        with self.path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(record, ensure_ascii=False) + "\n")


class Unwritten:
    """That of a rank that does not write."""

    def write(self, record: dict[str, Any]) -> None:
        pass


class OnBoard(NamedTuple):
    """Writes the log, and events for TensorBoard."""

    log: Written
    board: Board

    def write(self, record: dict[str, Any]) -> None:
        self.log.write(record)
        self.board.write(record)


@contextmanager
def open_log(ranks: Ranks, path: Path, after_step: int, events: Path | None) -> Iterator[Log]:
    """events: the folder for those of TensorBoard; None if nobody wants them."""
    if ranks.number:
        yield Unwritten()
        return
    log = Written(path, after_step)
    if events is None:
        yield log
        return
    with open_board(events, path, after_step) as board:
        yield OnBoard(log, board)


def before(line: bytes, step: int) -> bool:
    """Is this a whole record of a step up to `step`?"""
    record = record_of(line)
    return record is not None and bool(record["step"] <= step)
