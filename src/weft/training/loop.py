"""The loop: batches, updates, validation, checkpoints, until the steps are done or a person stops it."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Literal

from weft.config.recipe import Recipe
from weft.core.errors import UserError
from weft.core.numbers import spoken_minutes
from weft.core.randomness import set_draws
from weft.data.batches import Batch, Batches
from weft.objective.role import Objective
from weft.optim.averages import Average, Weights
from weft.optim.optimisers import Optimiser
from weft.optim.schedules import Schedule
from weft.store.checkpoint import Checkpoint, save_checkpoint
from weft.store.model_folder import Trained, fill, save_model, weights_of
from weft.training.budget import Spent, is_time, steps_that_fit
from weft.training.folder import RunFolder
from weft.training.interrupt import Interrupt
from weft.training.log import Log
from weft.training.meter import Meter
from weft.training.position import Position, stream
from weft.training.progress import Display, validation_line
from weft.training.update import NotFiniteError, update
from weft.training.validation import Validator, better

End = Literal["done", "patience", "interrupted"]


@dataclass
class Parts:
    """What the recipe names, made."""

    trained: Trained
    objective: Objective
    optimiser: Optimiser
    schedule: Schedule
    average: Average | None
    batches: Batches
    validate: Validator | None


@dataclass
class Loop:
    """A run in progress: its parts, and where it is."""

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

    def run(self, interrupt: Interrupt) -> End:
        """Train until the steps are done, patience has run out, or a signal came; then everything is on disk."""
        log = Log(self.folder.log, self.position.step)
        updates = stream(self.parts.batches, self.position, self.recipe.train.accumulate)
        while (end := self._end(interrupt)) is None:
            with taking(self.spent.updates):
                self._update(*next(updates))
            self._fix_length()
            self._report(log)
            with self.meter.paused():
                self._validate(log)
                if self._due(self.recipe.train.checkpoint_steps) or self._minutes_since_saved_are_over():
                    self.save()
        self.save()
        if end == "interrupted":
            trained = self.parts.trained._replace(metrics={"step": self.position.step})
            save_model(self.folder.last, trained, self._kept(weights_of(trained.model)))
        return end

    def _end(self, interrupt: Interrupt) -> End | None:
        steps = self.recipe.train.steps
        if steps is not None and self.position.step >= steps:
            return "done"
        if interrupt.signal is not None:
            return "interrupted"
        patience = self.recipe.train.validation.patience
        return "patience" if patience is not None and self.since >= patience else None

    def _due(self, every: int) -> bool:
        return self.position.step % every == 0 or self.position.step == self.recipe.train.steps

    def _minutes_since_saved_are_over(self) -> bool:
        return time.monotonic() - self.saved > 60 * self.recipe.train.checkpoint_minutes

    def _update(self, position: Position, batches: list[Batch]) -> None:
        set_draws(self.recipe.train.seed, "step", position.step)
        model = self.parts.trained.model
        device = next(model.parameters()).device
        try:
            sums = update(
                model,
                self.parts.objective,
                self.parts.optimiser,
                [batch.to(device) for batch in batches],
                step=position.step,
                rate=self.parts.schedule(position.step),
                clip=self.recipe.train.clip,
            )
        except NotFiniteError as error:
            raise UserError(self._advice(position.step)) from error
        if self.parts.average is not None:
            self.parts.average.update(position.step, weights_of(model))
        self.position = position
        self.meter.add(sums)

    def _fix_length(self) -> None:
        """With a budget of minutes: once it can be told how many steps fit, this becomes a run of so many steps."""
        settings, share = self.recipe.train, self.parts.schedule.open
        if settings.steps is not None or settings.minutes is None:
            self.spent = Spent()
            return
        if not is_time(settings.minutes, share, self.spent):
            return
        if self.parts.validate is not None and not self.spent.validations:
            with taking(self.spent.validations):
                self.parts.validate(self.parts.trained)  # for its time alone
        steps = steps_that_fit(settings.minutes, share, self.spent, settings.validation.every)
        self.recipe = replace(self.recipe, train=replace(settings, steps=steps, minutes=None))
        self.folder.keep_recipe(self.recipe)
        self.parts.schedule = settings.schedule(steps)
        self.parts.trained = self.parts.trained._replace(recipe=self.recipe)
        told = f"{steps:,} steps fit into {spoken_minutes(settings.minutes)}; written into {self.folder.path}"
        before = f" ({self.spent.before:.0f} seconds of them went into reading the data)"
        self.display.say(told + (before if self.spent.before > 0.2 * 60 * settings.minutes else ""))

    def _advice(self, step: int) -> str:
        kept = self.folder.checkpoints
        return (
            f"step {step}: the loss or its gradient is no longer a finite number, and the run has stopped.\n"
            "The learning rate is probably too high. Start again in another --out with half of train.schedule.peak, a "
            "longer train.schedule.warmup, or train.clip=1: this run would only come to the same step again."
            + (f"\nCheckpoints from before are in {kept}." if kept.exists() else "")
        )

    def _report(self, log: Log) -> None:
        step = self.position.step
        if step > 1 and not self._due(self.recipe.train.log_every):
            return
        seconds, means = self.meter.seconds(), self.meter.report()
        record = {"step": step, "epoch": self.position.epoch + 1, "rate": self.parts.schedule(step), **means}
        record |= {"best": self.best, "seconds": seconds, "left": self._seconds_left(seconds)}
        log.write(record)
        self.display.step(record, self.recipe.train.steps)

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
        raw = {name: weight.clone() for name, weight in weights_of(self.parts.trained.model).items()}
        kept = self._kept(raw)
        fill(self.parts.trained.model, kept, self.folder.path)
        scores = self.parts.validate(self.parts.trained) if self.parts.validate else {}
        self._keep(kept, scores, log)
        fill(self.parts.trained.model, raw, self.folder.path)

    def _kept(self, raw: Weights) -> Weights:
        average = self.parts.average.weights() if self.parts.average else None
        return raw if average is None else average

    def _keep(self, weights: Weights, scores: dict[str, Any], log: Log) -> None:
        record = {"step": self.position.step, "valid": scores}
        log.write(record)
        trained = self.parts.trained._replace(metrics=record)
        save_model(self.folder.last, trained, weights)
        chosen = self.recipe.train.validation.choose
        improved = not scores or better(chosen, scores[chosen], self.best)
        if improved:
            save_model(self.folder.best, trained, weights)
        self.since = 0 if improved else self.since + 1
        if scores:
            self.best = scores[chosen] if improved else self.best
            self.display.say(validation_line(record, chosen, improved=improved))

    def save(self) -> None:
        """Write a checkpoint, unless this step has one."""
        if self.saved_step != self.position.step:
            self.write_checkpoint()

    def write_checkpoint(self) -> None:
        """Write down all from which the run goes on exactly."""
        groups = {
            "weights": weights_of(self.parts.trained.model),
            "optimiser": self.parts.optimiser.tensors(),
            "average": self.parts.average.tensors() if self.parts.average else {},
        }
        state = {
            "best": self.best,
            "since": self.since,
            "position": asdict(self.position),
            "meter": self.meter.state(),
            "spent": asdict(self.spent),
        }
        save_checkpoint(self.folder.checkpoints, self.position.step, Checkpoint(groups, state))
        self.saved, self.saved_step = time.monotonic(), self.position.step

    def restore(self, checkpoint: Checkpoint) -> None:
        """Be where the checkpoint was."""
        model, state = self.parts.trained.model, checkpoint.state
        device = next(model.parameters()).device
        groups = {
            name: {key: one.to(device) for key, one in group.items()} for name, group in checkpoint.groups.items()
        }
        fill(model, groups["weights"], self.folder.checkpoints)
        self.parts.optimiser.restore(groups["optimiser"])
        if self.parts.average is not None:
            self.parts.average.restore(groups["average"])
        self.best, self.since, self.meter = state["best"], state["since"], Meter.restored(state["meter"])
        earlier = Spent(**state["spent"])
        self.spent = replace(earlier, before=earlier.before + self.spent.before)
        self.position = Position(**state["position"])
        self.saved_step = self.position.step


@contextmanager
def taking(seconds: list[float]) -> Iterator[None]:
    """Note how long it takes."""
    began = time.monotonic()
    yield
    seconds.append(time.monotonic() - began)
