"""The plain numbers of a checkpoint: where a run was."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from weft.store.json_files import as_kind
from weft.training.budget import Spent
from weft.training.meter import Counted
from weft.training.position import Position


@dataclass(frozen=True)
class State:
    """best: the best validation so far. since: validations after it. recipe: the configuration, as plain data."""

    best: float | None
    since: int
    position: Position
    meter: Counted
    spent: Spent
    recipe: dict[str, Any]

    def to_json(self) -> dict[str, Any]:
        return asdict(self)


def as_state(node: dict[str, Any], checkpoints: Path) -> State:
    """What the newest checkpoint in that folder says."""
    return as_kind(node, State, checkpoints)
