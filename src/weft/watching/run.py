"""A run as those see it who watch it: what it has told so far, where it is, and whether it goes on."""

from __future__ import annotations

import time
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import Literal, NamedTuple, TypeAlias, get_args

from weft.config.document import read_document
from weft.core.errors import UserError
from weft.store.manifest import MANIFEST
from weft.store.run_end import Best, End, best_of, end_of
from weft.store.run_log import LOG, Following, History, points

CONFIG = "config.yaml"
ADVICE = "Give the folder of a run (the --out of weft train)."
QUIET = 60.0  # seconds without a line in the log that mean nothing yet
GAPS = 3  # times the longest time between two reports so far, as well

State: TypeAlias = Literal["waiting", "training", "silent"] | End
ENDED = get_args(End)


class Plan(NamedTuple):
    """What the configuration of a run says of its course. steps: None until a budget of minutes has fixed them."""

    steps: int | None
    choose: str
    patience: int | None


class Progress(NamedTuple):
    """Where a run is. share: of its whole time, if that can be told; silence: seconds since it last wrote."""

    state: State
    step: int
    epoch: int
    steps: int | None
    share: float | None
    seconds: float
    left: float | None
    silence: float


class Watched:
    """A run under its name. Its folder need not be there yet."""

    def __init__(self, name: str, folder: Path):
        self.name, self.folder = name, folder
        self.plan: Plan | None = None
        self._following = Following(folder / LOG)
        self._planned = -1  # when the configuration that was read was written
        self._wrote = 0.0

    @property
    def history(self) -> History:
        return self._following.history

    def look(self) -> bool:
        """Read what is new; whether anything is."""
        new_plan, new_lines = self._look_at_plan(), self._following.look()
        self._wrote = written(self._following.log)
        return new_plan or new_lines

    def _look_at_plan(self) -> bool:
        """A budget of minutes becomes one of steps on the way."""
        config = self.folder / CONFIG
        if not config.is_file():
            changed, self.plan, self._planned = self.plan is not None, None, -1
            return changed
        when = config.stat().st_mtime_ns
        if when == self._planned:
            return False
        self.plan, self._planned = read_plan(config), when
        return True

    def best(self) -> Best | None:
        """So far, in what decides which weights are kept."""
        return best_of(self.history.validations, self.plan.choose) if self.plan else None

    def progress(self) -> Progress:
        reports, steps = self.history.reports, self.plan.steps if self.plan else None
        silence = max(0.0, time.time() - self._wrote) if self._wrote else 0.0
        state = self._state(silence)
        if not reports:
            return Progress(state, 0, 0, steps, None, 0.0, None, silence)
        last = reports[-1]
        step, seconds, told = last["step"], last.get("seconds", 0.0), last.get("left")
        left = None if told is None or state in ENDED else max(0.0, told - (silence if state == "training" else 0.0))
        share = step / steps if steps else seconds / (seconds + told) if told else None
        return Progress(state, step, last.get("epoch", 0), steps, share, seconds, left, silence)

    def _state(self, silence: float) -> State:
        history, plan = self.history, self.plan
        if not (history.reports or history.validations or history.findings):
            return "waiting"
        end = end_of(history, *plan) if plan else None
        if end is not None:
            return end
        return "silent" if silence > QUIET + GAPS * longest_gap(history) else "training"


def longest_gap(history: History) -> float:
    """Seconds between two reports, with the validations between them."""
    times = [value for _, value in points(history.reports, "seconds")]
    return max((after - before for before, after in pairwise(times)), default=0.0)


def read_plan(config: Path) -> Plan:
    match read_document(config):
        case {
            "train": {
                "steps": int() | None as steps,
                "validation": {"choose": str() as choose, "patience": int() | None as patience},
            }
        }:
            return Plan(steps, choose, patience)
    raise UserError(f"{config}: is not the configuration of a run. {ADVICE}")


def written(path: Path) -> float:
    """When a file was last written; 0 if there is none."""
    try:
        return path.stat().st_mtime
    except OSError:
        return 0.0


def watch_all(folders: Sequence[Path]) -> list[Watched]:
    """Runs by the names of their folders, or by their whole paths where these are equal."""
    for number, folder in enumerate(folders):
        if folder.is_file():
            raise UserError(f"{folder}: is a file. {ADVICE}")
        if (folder / MANIFEST).is_file():
            raise UserError(f"{folder}: is the folder of a model, which has no log. {ADVICE}")
        if folder.resolve() in [other.resolve() for other in folders[:number]]:
            raise UserError(f"{folder} is given twice: give each run once.")
    short = [folder.resolve().name for folder in folders]
    names = short if len(set(short)) == len(short) else [str(folder) for folder in folders]
    return [Watched(name, folder) for name, folder in zip(names, folders, strict=True)]


def check_begun(runs: Sequence[Watched]) -> None:
    """Where nobody waits: is there something to see of each?"""
    for run in runs:
        if not run.folder.exists():
            raise UserError(f"{run.folder}: there is no such folder. {ADVICE}")
        if run.plan is None and run.progress().state == "waiting":
            raise UserError(f"{run.folder} is not a run folder: it has no {CONFIG} and no {LOG}. {ADVICE}")
