"""The training loop: batches, updates, validation, checkpoints, until the steps are done, patience runs out or a
signal arrives. TrainerState holds the plain numbers of a checkpoint.
"""

import math
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from types import FrameType
from typing import Any, Literal

from torch import Tensor

from weft.checkpoints.checkpoint import Checkpoint, save_checkpoint
from weft.checkpoints.file_formats import parse_json_as
from weft.checkpoints.run_log import TrainingHistory, best_validation, read_history
from weft.checkpoints.trained_model import copy_weights, model_weights, save_model
from weft.config.recipe import Recipe
from weft.config.serialization import to_dict
from weft.core.errors import UserError
from weft.core.formatting import format_minutes
from weft.core.seeds import seed_all
from weft.data.batches import Batch
from weft.metrics.corpus_metrics import is_better
from weft.models.model import Model, trainable_parameters
from weft.optim.weight_averages import NamedWeights
from weft.training.diagnostics import RunDiagnosis, nonfinite_diagnosis, run_diagnostics
from weft.training.distributed import RankGroup
from weft.training.log_writer import LogWriters, open_log
from weft.training.progress import ProgressDisplay, format_validation
from weft.training.run_components import TrainingComponents
from weft.training.run_folder import RunFolder, describe_changes, reusable_state
from weft.training.time_budget import TimeSpent, can_fix_steps, steps_in_budget, warn_about_warmup
from weft.training.train_step import (
    DataCursor,
    MeterState,
    NonFiniteError,
    TrainingMeter,
    iterate_updates,
    prefetch_to_device,
    train_step,
)

RunOutcome = Literal["done", "patience", "interrupted"]


class InterruptHandler:
    """A signal handler: the first signal requests a stop after the current step, the second stops at once."""

    def __init__(self) -> None:
        self.signal: signal.Signals | None = None

    def __call__(self, number: int, _frame: FrameType | None) -> None:
        if self.signal is not None:
            raise KeyboardInterrupt
        self.signal = signal.Signals(number)


@contextmanager
def handle_interrupts() -> Iterator[InterruptHandler]:
    """Handle Ctrl-C, SIGTERM and SIGHUP inside the block, in the main thread only; restore the old handlers after it.

    Ignored signals stay ignored, such as SIGHUP under nohup.
    """
    interrupt = InterruptHandler()
    previous = {}
    if threading.current_thread() is threading.main_thread():
        for name in ("SIGINT", "SIGTERM", "SIGHUP"):
            number = signal.Signals.__members__.get(name)
            if number is not None and signal.getsignal(number) is not signal.SIG_IGN:
                previous[number] = signal.signal(number, interrupt)
    try:
        yield interrupt
    finally:
        for number, handler in previous.items():
            signal.signal(number, handler)


@dataclass(frozen=True)
class TrainerState:
    """The plain data of a checkpoint. recipe: the configuration."""

    best_score: float | None
    validations_since_best: int
    cursor: DataCursor
    meter: MeterState
    time_spent: TimeSpent
    recipe: dict[str, Any]


@dataclass
class Trainer:
    """A run in progress, the same on every rank; rank 0 writes and prints."""

    folder: RunFolder
    recipe: Recipe
    components: TrainingComponents
    display: ProgressDisplay
    time_spent: TimeSpent = field(default_factory=TimeSpent)  # only used with a time budget
    cursor: DataCursor = field(default_factory=DataCursor)
    best_score: float | None = None
    validations_since_best: int = 0
    meter: TrainingMeter = field(default_factory=TrainingMeter)
    saved_time: float = field(default_factory=time.monotonic)
    saved_step: int = 0
    history: TrainingHistory = field(default_factory=TrainingHistory)

    @property
    def ranks(self) -> RankGroup:
        return self.components.strategy.ranks

    def run(self, interrupt: InterruptHandler) -> RunOutcome:
        """Train until the run ends or is interrupted; then everything is saved."""
        tensorboard = self.folder.tensorboard if self.recipe.train.tensorboard else None
        with open_log(self.ranks, self.folder.log, self.cursor.step, tensorboard) as log:
            if self.ranks.rank == 0:  # open_log has repaired the log that a killed run may have left
                self.history = read_history(self.folder.log)
            for diagnosis in self.components.diagnoses:
                self._report_diagnosis(diagnosis, log)
            try:
                return self._run(interrupt, log)
            except NonFiniteError as error:
                diagnosis, checkpoints = nonfinite_diagnosis(self.cursor.step + 1), self.folder.checkpoints
                self._log(diagnosis.record(self.cursor.step + 1), log)
                with suppress(NonFiniteError):
                    self.save()  # the last good weights
                saved = f"\nEarlier checkpoints are in {checkpoints}." if checkpoints.exists() else ""
                raise UserError(f"{diagnosis.observation}.\n{diagnosis.cause}. {diagnosis.advice}.{saved}") from error

    def _run(self, interrupt: InterruptHandler, log: LogWriters) -> RunOutcome:
        if self.cursor.step == 0 and self.recipe.train.validation.at_start and self.components.validator is not None:
            with self.meter.paused(), record_seconds(self.time_spent.validations):
                self._validate_initial(log)
        batches = iterate_updates(self.components.batches, self.cursor, self.recipe.train.gradient_accumulation)
        updates = prefetch_to_device(batches, self.ranks.device)
        while (outcome := self._outcome(interrupt)) is None:
            with record_seconds(self.time_spent.updates):
                self._update(*next(updates))
            self._fix_steps()
            self._report(log)
            with self.meter.paused():
                if self._is_due(self.recipe.train.validation.every):
                    with record_seconds(self.time_spent.validations):
                        self._validate(log)
                if self._is_due(self.recipe.train.checkpoint_steps):
                    self.save()
        self.save()
        if outcome == "interrupted":
            trained = self.components.trained._replace(metrics={"step": self.cursor.step})
            weights = self._evaluated_weights()
            self.ranks.on_main(lambda: save_model(self.folder.last, trained, weights))
        return outcome

    def _outcome(self, interrupt: InterruptHandler) -> RunOutcome | None:
        """Return how the run ends, or None if it continues; save an overdue checkpoint."""
        steps, patience = self.recipe.train.steps, self.recipe.train.validation.patience
        if steps is not None and self.cursor.step >= steps:
            return "done"
        overdue = time.monotonic() - self.saved_time > 60 * self.recipe.train.checkpoint_minutes
        interrupts, overdues = self.ranks.all_reduce([float(interrupt.signal is not None), float(overdue)])
        if overdues:
            with self.meter.paused():
                self.save()
        if interrupts:
            return "interrupted"
        return "patience" if patience is not None and self.validations_since_best >= patience else None

    def _is_due(self, every: int) -> bool:
        return self.cursor.step % every == 0 or self.cursor.step == self.recipe.train.steps

    def _update(self, cursor: DataCursor, batches: list[Batch]) -> None:
        rank = [self.ranks.rank] if self.ranks.rank else []  # rank 0 draws as a single process does
        seed_all(self.recipe.train.seed, "step", cursor.step, *rank)
        parts, rate, clip_norm = self.components, self.components.schedule(cursor.step), self.recipe.train.clip_norm
        stats = train_step(
            parts.strategy, parts.optimizer, batches, step=cursor.step, learning_rate=rate, clip_norm=clip_norm
        )
        if parts.average is not None:
            parts.average.update(cursor.step, trainable_weights(parts.trained.model))
        self.cursor = cursor
        self.meter.add(stats)

    def _fix_steps(self) -> None:
        """With a time budget, fix the number of steps once enough time was measured; then the clock is not needed."""
        settings, open_share = self.recipe.train, self.components.schedule.open_fraction
        if settings.steps is not None or settings.minutes is None:
            self.time_spent = TimeSpent()
            return
        minutes, every = settings.minutes, settings.validation.every
        if not self.ranks.on_main(lambda: can_fix_steps(minutes, open_share, self.time_spent)):
            return
        if self.components.validator is not None and not self.time_spent.validations:
            with record_seconds(self.time_spent.validations):
                self._scores(self._evaluated_weights())  # only to measure its time
        steps = self.ranks.on_main(lambda: steps_in_budget(minutes, open_share, self.time_spent, every))
        self.recipe = replace(self.recipe, train=replace(settings, steps=steps, minutes=None))
        self.ranks.on_main(lambda: self.folder.write_recipe(self.recipe))
        self.components.schedule = settings.schedule(steps)
        self.components.trained = self.components.trained._replace(recipe=self.recipe)
        message = f"{steps:,} steps fit into {format_minutes(minutes)}; written into {self.folder.path}"
        if self.time_spent.preparation > 0.2 * 60 * minutes:
            message += f" ({self.time_spent.preparation:.0f} seconds of them were spent reading the data)"
        self.display.print(message)
        warn_about_warmup(self.recipe, self.display)

    def _require_finite(self) -> None:
        """Raise NonFiniteError if weights are not finite, so that they are never saved; a finite update can do that."""
        if not math.isfinite(self.components.strategy.gradient_norm([*self._weights().values()])):
            raise NonFiniteError

    def _report_diagnosis(self, diagnosis: RunDiagnosis, log: LogWriters) -> None:
        if diagnosis.diagnosis not in self.history.diagnoses:
            self._log(diagnosis.record(self.cursor.step), log)
            self.display.print(diagnosis.message())

    def _log(self, record: dict[str, Any], log: LogWriters) -> None:
        for writer in log:
            writer.write(record)
        self.history.add(record)

    def _diagnose(self, log: LogWriters) -> None:
        for diagnosis in run_diagnostics(self.history, self.recipe.train):
            self._report_diagnosis(diagnosis, log)

    def _report(self, log: LogWriters) -> None:
        step, settings = self.cursor.step, self.recipe.train
        if step > 1 and not self._is_due(settings.log_every):
            return
        seconds, means = self.meter.seconds(), self.meter.report(settings.log_every if step == settings.steps else 0)
        if settings.steps is not None:
            seconds_left = seconds / step * (settings.steps - step)
        else:
            seconds_left = max(0.0, 60 * (settings.minutes or 0.0) - self.time_spent.total())
        learning_rate = self.components.schedule(step)
        record = {"step": step, "epoch": self.cursor.epoch + 1, "learning_rate": learning_rate, **means}
        record |= {"best": self.best_score, "seconds": seconds, "seconds_left": seconds_left}
        self._log(record, log)
        self.display.report(record, settings.steps)
        self._diagnose(log)

    def _validate(self, log: LogWriters) -> None:
        """Score the weights (averaged, if there is an average), save them as last/, and as best/ if they are best."""
        self._require_finite()
        weights = self._evaluated_weights()
        scores = self._scores(weights)
        record = {"step": self.cursor.step, "validation": scores}
        self._log(record, log)
        trained = self.components.trained._replace(metrics=record)
        self.ranks.on_main(lambda: save_model(self.folder.last, trained, weights))
        metric = self.recipe.train.validation.best_metric
        improved = not scores or is_better(metric, scores[metric], self.best_score)
        if improved:
            self.ranks.on_main(lambda: save_model(self.folder.best, trained, weights))
        self.validations_since_best = 0 if improved else self.validations_since_best + 1
        if scores:
            self.best_score = scores[metric] if improved else self.best_score
            self.display.print(format_validation(record, metric, improved=improved))
            self._diagnose(log)

    def _validate_initial(self, log: LogWriters) -> None:
        """Score and save the weights that the run starts with, unless the log of a killed run has their scores.

        The log comes last, so that scores in it are those of a saved model.
        """
        metric = self.recipe.train.validation.best_metric
        logged = self.ranks.on_main(lambda: next((one for one in self.history.validations if one["step"] == 0), None))
        if logged is not None:
            self.best_score = logged[metric]
            return
        weights = self._evaluated_weights()
        record: dict[str, Any] = {"step": 0, "validation": self._scores(weights)}
        trained = self.components.trained._replace(metrics=record)
        for folder in (self.folder.last, self.folder.best):
            self.ranks.on_main(partial(save_model, folder, trained, weights))
        self._log(record, log)
        self.best_score = record["validation"][metric]
        self.display.print(format_validation(record, metric, improved=True))

    def initial_model_is_best(self) -> bool:
        """Return whether no validation was better than that of the initial weights."""
        best = best_validation(self.history.validations, self.recipe.train.validation.best_metric)
        return best is not None and best.step == 0

    def _weights(self) -> NamedWeights:
        return model_weights(self.components.trained.model)

    def _evaluated_weights(self) -> NamedWeights:
        """Return the full weights on rank 0, averaged if there is an average."""
        average = self.components.average.weights() if self.components.average else None
        return self.components.strategy.gather({**self._weights(), **(average or {})})

    def _scores(self, weights: NamedWeights) -> dict[str, Any]:
        """Return the validation scores of full weights; rank 0 validates, and the others wait."""
        validator = self.components.validator
        if validator is None:
            return {}

        def validate() -> dict[str, Any]:
            with self.components.strategy.evaluation_model(weights) as model:
                return validator(self.components.trained._replace(model=model))

        return self.ranks.on_main(validate)

    def save(self) -> None:
        """Write a checkpoint, unless this step has one."""
        if self.saved_step != self.cursor.step:
            self._require_finite()
            self.write_checkpoint()

    def write_checkpoint(self) -> None:
        """Save everything that an exact resume needs."""
        gather, average = self.components.strategy.gather, self.components.average
        groups = {
            "weights": gather(self._weights()),
            "optimizer": gather(self.components.optimizer.tensors()),
            "average": gather(average.tensors() if average else {}),
        }
        state = TrainerState(
            best_score=self.best_score,
            validations_since_best=self.validations_since_best,
            cursor=self.cursor,
            meter=self.meter.state(),
            time_spent=self.time_spent,
            recipe=to_dict(self.recipe),
        )
        checkpoint = Checkpoint(groups, asdict(state))
        self.ranks.on_main(lambda: save_checkpoint(self.folder.checkpoints, self.cursor.step, checkpoint))
        self.saved_time, self.saved_step = time.monotonic(), self.cursor.step

    def restore(self, checkpoint: Checkpoint) -> None:
        """Continue from a checkpoint, which rank 0 has read; other ranks pass one without tensors."""
        node = self.ranks.on_main(lambda: checkpoint.state)
        state = parse_json_as(node, TrainerState, self.folder.checkpoints)
        recipe, groups = to_dict(self.recipe), checkpoint.groups
        distribute = self.components.strategy.distribute
        reusable = reusable_state(state.recipe, recipe)
        if changes := describe_changes(state.recipe, recipe, state.cursor.step):
            self.display.print(changes)
        copy_weights(self.components.trained.model, distribute(groups["weights"]), self.folder.checkpoints)
        self.components.optimizer.restore(distribute(groups["optimizer"] if reusable.optimizer else {}))
        average = distribute(groups["average"] if reusable.average else {})
        if self.components.average is not None:
            self.components.average.restore(average)
        if reusable.best:
            self.best_score, self.validations_since_best = state.best_score, state.validations_since_best
        self.meter = TrainingMeter(state.meter if reusable.meter else replace(state.meter, updates=[], reported=[]))
        preparation = state.time_spent.preparation + self.time_spent.preparation
        self.time_spent = replace(state.time_spent, preparation=preparation)
        self.cursor, self.saved_step = state.cursor, state.cursor.step


def trainable_weights(model: Model) -> dict[str, Tensor]:
    """Return the trainable weights only: averaging frozen ones could change them by rounding."""
    frozen = dict(model.named_parameters()).keys() - trainable_parameters(model).keys()
    return {name: weight for name, weight in model_weights(model).items() if name not in frozen}


@contextmanager
def record_seconds(seconds: list[float]) -> Iterator[None]:
    """Append the duration of the block to the list."""
    start = time.monotonic()
    yield
    seconds.append(time.monotonic() - start)
