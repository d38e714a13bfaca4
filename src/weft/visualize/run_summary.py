"""The content of a run folder: recipe, log, how far the run came, what it started from, and lines for evaluation."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Literal, NamedTuple, TypeAlias

import numpy as np

from weft.checkpoints.file_formats import read_json_as
from weft.checkpoints.manifest import MANIFEST_FILE
from weft.checkpoints.model_folder import WEIGHTS_FILE, find_model
from weft.checkpoints.run_log import (
    BestValidation,
    RunEnd,
    TrainingHistory,
    best_validation,
    find_run_end,
    read_history,
)
from weft.config.recipe import Recipe
from weft.core.errors import UserError
from weft.core.files import similar_path
from weft.core.formatting import format_minutes, pluralize
from weft.data.data_report import DataReport
from weft.data.pair_files import LinePair
from weft.metrics.comparison import count_words
from weft.text.text_config import source_modality
from weft.training.distillation import StudentFolder
from weft.training.finetuning import FinetuningFolder
from weft.training.run_folder import CONFIG_FILE, RECIPE_FILE, RunData, RunFolder

SPLIT_LABELS = {"valid": "the validation data", "test": "the test data", "train": "the training data"}

RunStatus: TypeAlias = RunEnd | Literal["unfinished", "not started"]


@dataclass(frozen=True)
class RunSummary:
    """The content of a run folder at one moment."""

    folder: RunFolder
    recipe: Recipe
    data: RunData
    history: TrainingHistory
    recipe_text: str | None  # the recipe that Weft chose, with its reasons
    model: Path | None  # the best model so far

    @property
    def name(self) -> str:
        return self.folder.path.resolve().name

    @property
    def data_report(self) -> DataReport:
        return DataReport(self.data.splits)

    @property
    def step(self) -> int:
        """The last step in the log; 0 if there is none."""
        return max((record["step"] for record in (*self.history.reports, *self.history.validations)), default=0)

    @property
    def best(self) -> BestValidation | None:
        return best_validation(self.history.validations, self.recipe.train.validation.best_metric)

    @property
    def status(self) -> RunStatus:
        """How far the run came according to its log; whether it is still training is not known."""
        settings = self.recipe.train
        end = find_run_end(self.history, settings.steps, settings.validation.best_metric, settings.validation.patience)
        return end or ("unfinished" if self.step else "not started")

    @property
    def planned_length(self) -> str:
        steps, minutes = self.recipe.train.steps, self.recipe.train.minutes
        return f"a run of {format_minutes(minutes or 0)}" if steps is None else f"{steps:,}"

    def describe_status(self) -> str:
        return {
            "finished": f"finished after {self.step:,} steps",
            "patience": f"stopped at step {self.step:,}: validation no longer improved",
            "broken": f"stopped at step {self.step:,}: a number was not finite",
            "unfinished": f"at step {self.step:,} of {self.planned_length}",
            "not started": f"before the first report of {self.planned_length}",
        }[self.status]


def read_run_summary(path: Path) -> RunSummary:
    """Read a run folder. The run may be training: nothing is locked or written."""
    folder = RunFolder(path)
    _check_run_folder(path)
    recipe = folder.located_recipe()
    recipe_file = path / RECIPE_FILE
    return RunSummary(
        folder=folder,
        recipe=recipe,
        data=folder.data(),
        history=read_history(folder.log),
        recipe_text=recipe_file.read_text("utf-8") if recipe_file.is_file() else None,
        model=find_model(path) if folder.best.exists() or folder.last.exists() else None,
    )


def _check_run_folder(path: Path) -> None:
    if not path.exists():
        hint = similar_path(path) or "."
        raise UserError(f"{path}: there is no such folder. Give a run folder, the --out of weft train{hint}")
    if (path / CONFIG_FILE).is_file():
        return
    if (path / MANIFEST_FILE).is_file() and (path / WEIGHTS_FILE).is_file():
        raise UserError(
            f"{path} is a model folder, which has no log. Give the run folder (the --out of weft train), or describe "
            f"the model with: weft show {path}"
        )
    if FinetuningFolder(path).is_prepared() or StudentFolder(path).is_prepared():
        raise UserError(f"{path}: training has not started yet, so there is nothing to report")


def report_inputs(run: RunSummary) -> Iterator[Path]:
    """Yield the files that a report is made from, which the report must not overwrite."""
    path = run.folder.path
    yield from (file for file in path.iterdir() if file.is_file() and file.suffix in (".json", ".jsonl", ".yaml"))
    for model in (run.folder.best, run.folder.last):
        yield from (file for file in model.rglob("*") if file.is_file())
    for corpora in run.recipe.data.files().values():
        yield from (file for files in corpora for file in files)


@dataclass(frozen=True)
class ScoreRecord:
    """A score in a JSON file."""

    name: str
    value: float
    better: str
    interval: dict[str, float] | None = None
    p: float | None = None  # of the difference to the score before fine-tuning


@dataclass(frozen=True)
class FinetuningScores:
    """Scores before and after fine-tuning, by data set."""

    mix: float
    before: dict[str, list[ScoreRecord]]
    after: dict[str, list[ScoreRecord]]


@dataclass(frozen=True)
class SystemRecord:
    """Scores and speed of the teacher or the student with a search."""

    model: str
    search: str
    backend: str
    weights_bytes: int
    seconds: list[float]
    speedup: float
    scores: list[ScoreRecord]


@dataclass(frozen=True)
class DistillationScores:
    """Teacher and student on `count` lines."""

    lines: str
    count: int
    threads: int
    systems: list[SystemRecord]


def run_origin(run: RunSummary) -> tuple[str, FinetuningScores | None, DistillationScores | None]:
    """Return what a run started from, and the scores that fine-tuning or distillation measured at its end."""
    tuned, student = FinetuningFolder(run.folder.path), StudentFolder(run.folder.path)
    if tuned.is_prepared():
        scores = read_json_as(tuned.scores_file, FinetuningScores) if tuned.scores_file.is_file() else None
        return f"fine-tuned from {tuned.request().model}", scores, None
    if student.is_prepared():
        comparison = read_json_as(student.scores_file, DistillationScores) if student.scores_file.is_file() else None
        return f"distilled from {student.request().teacher}", None, comparison
    initial = run.recipe.train.initial_model
    return "" if initial is None else f"initialized with the weights of {initial}", None, None


class HeldOutLines(NamedTuple):
    """The first lines of a split. is_complete: all of them; has_changed: the files are no longer those of the run."""

    split: str
    pairs: list[LinePair]
    is_complete: bool
    has_changed: bool

    def describe(self) -> str:
        lines = pluralize(len(self.pairs), "line")
        return f"{'the' if self.is_complete else 'the first'} {lines} of {SPLIT_LABELS[self.split]}"


def read_held_out_lines(run: RunSummary, split: str, count: int) -> HeldOutLines | None:
    """Return at most `count` lines; None if the run has no such split; raise UserError if files cannot be read."""
    corpora = run.recipe.data.splits(source_modality(run.recipe.text))
    if split not in corpora:
        return None
    pairs = list(islice(corpora[split].pairs(), count + 1))
    has_changed = run.data.fingerprints.get(f"data.{split}") != corpora[split].fingerprint()
    return HeldOutLines(split, pairs[:count], len(pairs) <= count, has_changed)


def read_training_lines(run: RunSummary, count: int) -> list[LinePair]:
    """Return at most `count` lines of the training data; none if its files cannot be read."""
    try:
        return list(islice(run.recipe.data.splits(source_modality(run.recipe.text))["train"].pairs(), count))
    except UserError:
        return []


def check_test_data(run: RunSummary) -> None:
    if not run.recipe.data.test:
        raise UserError(
            "--test: this run has no test data (data.test); leave --test out, or score other data with weft evaluate"
        )


def typical_pairs(pairs: Sequence[LinePair], count: int) -> list[LinePair]:
    """Return the first pairs of medium length (between the quartiles), which suit a figure."""
    filled = [pair for pair in pairs if "".join(pair).strip()]
    lengths = count_words(source or target for source, target in filled)
    low, high = np.quantile(lengths, (0.25, 0.75)) if lengths else (0, 0)
    return [pair for pair, length in zip(filled, lengths, strict=True) if low <= length <= high][:count]
