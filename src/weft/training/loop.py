"""The loop: batches, updates, validation, checkpoints, until the steps are done or a person stops it."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from torch import Tensor

from weft.config.describe import describe
from weft.config.recipe import Recipe
from weft.config.registry import REGISTRY
from weft.core.errors import UserError
from weft.core.numbers import spoken_minutes
from weft.core.randomness import set_draws
from weft.data.batches import Batch, Batches
from weft.metric.better import better
from weft.model.freezing import learning
from weft.model.model import Model
from weft.optim.averages import Average, Weights
from weft.optim.optimisers import Optimiser
from weft.optim.schedules import Schedule
from weft.store.checkpoint import Checkpoint, save_checkpoint
from weft.store.model_folder import Trained, fill, save_model, weights_of
from weft.store.run_log import History, read_history
from weft.training.ahead import delivered
from weft.training.budget import Spent, is_time, steps_that_fit
from weft.training.changes import kept, told_changes
from weft.training.diagnosis.diagnoses import findings
from weft.training.diagnosis.finding import Finding
from weft.training.diagnosis.not_finite import last_words, not_finite
from weft.training.folder import RunFolder
from weft.training.interrupt import Interrupt
from weft.training.log import Log, open_log
from weft.training.meter import Meter
from weft.training.position import Position, stream
from weft.training.progress import Display, validation_line
from weft.training.ranks import Ranks, own_draws
from weft.training.spread import Spread
from weft.training.state import State, as_state
from weft.training.update import NotFiniteError, update
from weft.training.validation import Validator
from weft.training.warmup import tell_warmup

End = Literal["done", "patience", "interrupted"]


@dataclass
class Parts:
    """What the recipe names, made."""

    trained: Trained
    spread: Spread
    optimiser: Optimiser
    schedule: Schedule
    average: Average | None
    batches: Batches
    validate: Validator | None
    noticed: Sequence[Finding] = ()  # of the data, before training


@dataclass
class Loop:
    """A run in progress: its parts, and where it is. The same on every rank; the first one writes and speaks."""

    folder: RunFolder
    recipe: Recipe
    parts: Parts
    display: Display
    spent: Spent = field(default_factory=Spent)  # what is known of the time, with a budget of minutes
    position: Position = field(default_factory=Position)
    best: float | None = None  # the best validation so far
    since: int = 0  # validations after it
    meter: Meter = field(default_factory=Meter)
    saved: float = field(default_factory=time.monotonic)  # when the last checkpoint was written
    saved_step: int = 0
    history: History = field(default_factory=History)  # what the log says

    @property
    def ranks(self) -> Ranks:
        return self.parts.spread.ranks

    def run(self, interrupt: Interrupt) -> End:
        """Train until the steps are done, patience has run out, or a signal came; then everything is on disk."""
        events = self.folder.events if self.recipe.train.tensorboard else None
        with open_log(self.ranks, self.folder.log, self.position.step, events) as log:
            if self.ranks.number == 0:  # to others it may still be as a kill has left it
                self.history = read_history(self.folder.log)
            for finding in self.parts.noticed:
                self._tell(finding, log)
            try:
                return self._run(interrupt, log)
            except NotFiniteError as error:
                raise UserError(self._stopped(log)) from error

    def _run(self, interrupt: Interrupt, log: Log) -> End:
        batches = stream(self.parts.batches, self.position, self.recipe.train.accumulate)
        updates = delivered(batches, self.ranks.device)
        while (end := self._end(interrupt)) is None:
            with taking(self.spent.updates):
                self._update(*next(updates))
            self._fix_length()
            self._report(log)
            with self.meter.paused():
                self._validate(log)
                if self._due(self.recipe.train.checkpoint_steps):
                    self.save()
        self.save()
        if end == "interrupted":
            trained = self.parts.trained._replace(metrics={"step": self.position.step})
            kept = self._kept()
            self.ranks.first(lambda: save_model(self.folder.last, trained, kept))
        return end

    def _end(self, interrupt: Interrupt) -> End | None:
        steps = self.recipe.train.steps
        if steps is not None and self.position.step >= steps:
            return "done"
        if self._asked_to_stop(interrupt):
            return "interrupted"
        patience = self.recipe.train.validation.patience
        return "patience" if patience is not None and self.since >= patience else None

    def _due(self, every: int) -> bool:
        return self.position.step % every == 0 or self.position.step == self.recipe.train.steps

    def _asked_to_stop(self, interrupt: Interrupt) -> bool:
        """Was any rank? By the way they find out if for any of them the last checkpoint is too old, and write one."""
        overdue = time.monotonic() - self.saved > 60 * self.recipe.train.checkpoint_minutes
        stops, overdues = self.ranks.sums([float(interrupt.signal is not None), float(overdue)])
        if overdues:
            with self.meter.paused():
                self.save()
        return stops > 0

    def _update(self, position: Position, batches: list[Batch]) -> None:
        set_draws(self.recipe.train.seed, "step", position.step, *own_draws(self.ranks))
        sums = update(
            self.parts.spread,
            self.parts.optimiser,
            batches,
            step=position.step,
            rate=self.parts.schedule(position.step),
            clip=self.recipe.train.clip,
        )
        if self.parts.average is not None:
            self.parts.average.update(position.step, moving_weights(self.parts.trained.model))
        self.position = position
        self.meter.add(sums)

    def _fix_length(self) -> None:
        """With a budget of minutes: once it can be told how many steps fit, this becomes a run of so many steps."""
        settings, share = self.recipe.train, self.parts.schedule.open
        if settings.steps is not None or settings.minutes is None:
            self.spent = Spent()
            return
        minutes, every = settings.minutes, settings.validation.every
        if not self.ranks.first(lambda: is_time(minutes, share, self.spent)):
            return
        if self.parts.validate is not None and not self.spent.validations:
            with taking(self.spent.validations):
                self._scores(self._kept())  # for its time alone
        steps = self.ranks.first(lambda: steps_that_fit(minutes, share, self.spent, every))
        self.recipe = replace(self.recipe, train=replace(settings, steps=steps, minutes=None))
        self.ranks.first(lambda: self.folder.keep_recipe(self.recipe))
        self.parts.schedule = settings.schedule(steps)
        self.parts.trained = self.parts.trained._replace(recipe=self.recipe)
        told = f"{steps:,} steps fit into {spoken_minutes(settings.minutes)}; written into {self.folder.path}"
        before = f" ({self.spent.before:.0f} seconds of them went into reading the data)"
        self.display.say(told + (before if self.spent.before > 0.2 * 60 * settings.minutes else ""))
        tell_warmup(self.recipe, self.display)

    def _stopped(self, log: Log) -> str:
        """What is told where the next update cannot be made. The last good weights are kept; broken ones never are."""
        finding = not_finite(self.position.step + 1)
        log.write(finding.record(self.position.step + 1))
        with suppress(NotFiniteError):
            self.save()
        return last_words(finding, self.folder.checkpoints)

    def _require_finite(self) -> None:
        """An update can be finite and its outcome not; nothing on disk is replaced by such weights."""
        if not math.isfinite(self.parts.spread.norm([*weights_of(self.parts.trained.model).values()])):
            raise NotFiniteError

    def _tell(self, finding: Finding, log: Log) -> None:
        """Once in a run: the log remembers it."""
        if finding.diagnosis not in self.history.told:
            self._note(finding.record(self.position.step), log)
            self.display.say(finding.told())

    def _note(self, record: dict[str, Any], log: Log) -> None:
        """Into the log, and where it is remembered."""
        log.write(record)
        self.history.add(record)

    def _diagnose(self, log: Log) -> None:
        for finding in findings(self.history, self.recipe.train):
            self._tell(finding, log)

    def _report(self, log: Log) -> None:
        step = self.position.step
        if step > 1 and not self._due(self.recipe.train.log_every):
            return
        seconds, means = self.meter.seconds(), self.meter.report()
        record = {"step": step, "epoch": self.position.epoch + 1, "rate": self.parts.schedule(step), **means}
        record |= {"best": self.best, "seconds": seconds, "left": self._seconds_left(seconds)}
        self._note(record, log)
        self.display.step(record, self.recipe.train.steps)
        self._diagnose(log)

    def _seconds_left(self, seconds: float) -> float:
        settings, step = self.recipe.train, self.position.step
        if settings.steps is not None:
            return seconds / step * (settings.steps - step)
        return max(0.0, 60 * (settings.minutes or 0.0) - self.spent.total())

    def _validate(self, log: Log) -> None:
        """Score the weights that would be kept (the average, if there is one), and keep them if they are the best."""
        if not self._due(self.recipe.train.validation.every):
            return
        with taking(self.spent.validations):
            self._validate_now(log)

    def _validate_now(self, log: Log) -> None:
        self._require_finite()
        kept = self._kept()
        self._keep(kept, self._scores(kept), log)

    def _kept(self) -> Weights:
        average = self.parts.average.weights() if self.parts.average else None
        return self.parts.spread.whole({**weights_of(self.parts.trained.model), **(average or {})})

    def _scores(self, weights: Weights) -> dict[str, Any]:
        """What validation says of them. The first rank validates, as it would alone, and the others wait."""
        validate = self.parts.validate
        return self.ranks.first(lambda: self._validated(validate, weights)) if validate else {}

    def _validated(self, validate: Validator, weights: Weights) -> dict[str, Any]:
        with self.parts.spread.showing(weights) as model:
            return validate(self.parts.trained._replace(model=model))

    def _keep(self, weights: Weights, scores: dict[str, Any], log: Log) -> None:
        record = {"step": self.position.step, "valid": scores}
        self._note(record, log)
        trained = self.parts.trained._replace(metrics=record)
        self.ranks.first(lambda: save_model(self.folder.last, trained, weights))
        chosen = self.recipe.train.validation.choose
        improved = not scores or better(chosen, scores[chosen], self.best)
        if improved:
            self.ranks.first(lambda: save_model(self.folder.best, trained, weights))
        self.since = 0 if improved else self.since + 1
        if scores:
            self.best = scores[chosen] if improved else self.best
            self.display.say(validation_line(record, chosen, improved=improved))
            self._diagnose(log)

    def save(self) -> None:
        """Write a checkpoint, unless this step has one."""
        if self.saved_step != self.position.step:
            self._require_finite()
            self.write_checkpoint()

    def write_checkpoint(self) -> None:
        """Write down all from which the run goes on exactly."""
        whole = self.parts.spread.whole
        groups = {
            "weights": whole(weights_of(self.parts.trained.model)),
            "optimiser": whole(self.parts.optimiser.tensors()),
            "average": whole(self.parts.average.tensors() if self.parts.average else {}),
        }
        recipe = describe(self.recipe, REGISTRY)
        state = State(self.best, self.since, self.position, self.meter.counted(), self.spent, recipe)
        checkpoint = Checkpoint(groups, state.to_json())
        self.ranks.first(lambda: save_checkpoint(self.folder.checkpoints, self.position.step, checkpoint))
        self.saved, self.saved_step = time.monotonic(), self.position.step

    def restore(self, checkpoint: Checkpoint) -> None:
        """Be where the checkpoint was. The first rank has read it; the others have it from there."""
        state = as_state(self.ranks.first(lambda: checkpoint.state), self.folder.checkpoints)
        recipe, share, groups = describe(self.recipe, REGISTRY), self.parts.spread.share, checkpoint.groups
        still = kept(state.recipe, recipe)
        if told := told_changes(state.recipe, recipe, state.position.step):
            self.display.say(told)
        fill(self.parts.trained.model, share(groups["weights"]), self.folder.checkpoints)
        self.parts.optimiser.restore(share(groups["optimiser"] if still.moments else {}))
        average = share(groups["average"] if still.average else {})
        if self.parts.average is not None:
            self.parts.average.restore(average)
        if still.best:
            self.best, self.since = state.best, state.since
        self.meter = Meter.restored(state.meter if still.sums else replace(state.meter, seen=[]))
        self.spent = replace(state.spent, before=state.spent.before + self.spent.before)
        self.position, self.saved_step = state.position, state.position.step


def moving_weights(model: Model) -> dict[str, Tensor]:
    """Without those that are frozen, of which a mean could differ in the last bit."""
    frozen = dict(model.named_parameters()).keys() - learning(model).keys()
    return {name: weight for name, weight in weights_of(model).items() if name not in frozen}


@contextmanager
def taking(seconds: list[float]) -> Iterator[None]:
    """Note how long it takes."""
    began = time.monotonic()
    yield
    seconds.append(time.monotonic() - began)
