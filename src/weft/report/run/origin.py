"""What a run began with: nothing, another model, a model that it is to learn from or to go on from."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from weft.report.run.known import Known
from weft.store.json_files import read_as
from weft.student.folder import StudentFolder
from weft.tuning.folder import TuningFolder


@dataclass(frozen=True)
class ScoreRecord:
    """A score, as it is kept in files."""

    name: str
    value: float
    better: str
    interval: dict[str, float] | None = None


@dataclass(frozen=True)
class Tuned:
    """Scores before and after, by what they were measured on."""

    mix: float
    before: dict[str, list[ScoreRecord]]
    after: dict[str, list[ScoreRecord]]


@dataclass(frozen=True)
class SystemRecord:
    """Teacher or student with a search."""

    model: str
    search: str
    engine: str
    weights_bytes: int
    seconds: list[float]
    times_the_first: float
    scores: list[ScoreRecord]


@dataclass(frozen=True)
class Taught:
    """Teacher and student side by side, on so many lines."""

    lines: str
    count: int
    threads: int
    systems: list[SystemRecord]


class Origin(NamedTuple):
    """told: a sentence, if there is something to tell. tuned, taught: what was measured at the end, if it was."""

    told: str
    tuned: Tuned | None = None
    taught: Taught | None = None


def origin_of(known: Known) -> Origin:
    path = known.folder.path
    tuning, student = TuningFolder(path), StudentFolder(path)
    if tuning.has_begun():
        tuned = read_as(tuning.table, Tuned) if tuning.table.is_file() else None
        return Origin(f"fine-tuned from {tuning.begun().asked.model}", tuned=tuned)
    if student.has_begun():
        taught = read_as(student.comparison, Taught) if student.comparison.is_file() else None
        return Origin(f"a student of {student.asked().teacher}", taught=taught)
    start = known.recipe.train.start
    return Origin("" if start is None else f"began with the weights of {start}")
