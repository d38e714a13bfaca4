"""Training speed of several trainers that alternate in one process, so that other load slows all of them equally."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from itertools import islice
from typing import Annotated, NamedTuple, TypeAlias

import torch
import typer
from benchmarks.command_line import log
from benchmarks.summary_statistics import Summary, summarize

from weft.config.recipe import Recipe
from weft.core.seeds import seed_all
from weft.data.batches import Batch
from weft.training.data_preparation import PreparedData
from weft.training.distributed import CPU_RANK
from weft.training.mixed_precision import resolve_precision
from weft.training.progress import PlainDisplay
from weft.training.run_components import TrainingComponents, build_components
from weft.training.train_step import DataCursor, iterate_updates, train_step

RoundCount = Annotated[int, typer.Option(min=1)]
Updates = Annotated[int, typer.Option(min=1, help="Updates of each trainer per round.")]
WarmUp = Annotated[int, typer.Option(min=1, help="Updates before the first round.")]
Threads = Annotated[int | None, typer.Option(min=1, help="Default: torch's choice.")]

Trainer: TypeAlias = Callable[[Batch, int], float]  # batch, update number -> mean loss


class Turn(NamedTuple):
    """Consecutive updates of one trainer."""

    tokens_per_second: float
    seconds_per_update: float
    loss: float  # mean


Rounds: TypeAlias = dict[str, list[Turn]]  # by trainer


class RecipeTrainer:
    """Trains a recipe with the same update as `weft train`."""

    def __init__(self, recipe: Recipe, prepared: PreparedData):
        self.settings = recipe.train
        self.components: TrainingComponents = build_components(
            resolve_precision(recipe, CPU_RANK, PlainDisplay()), prepared, CPU_RANK, PlainDisplay()
        )
        self.components.trained.model.train()

    def __call__(self, batch: Batch, step: int) -> float:
        seed_all(self.settings.seed, "step", step)
        components = self.components
        sums = train_step(
            components.strategy,
            components.optimizer,
            [batch],
            step=step,
            learning_rate=components.schedule(step),
            clip_norm=self.settings.clip_norm,
        )
        return sums.loss / sums.count

    def perplexity(self) -> float | None:
        """Return the validation perplexity; None without validation data."""
        validate = self.components.validator
        return None if validate is None else float(validate(self.components.trained)["perplexity"])


def first_batches(trainer: RecipeTrainer, count: int) -> list[Batch]:
    """Return the first batches of its training data."""
    return [batch for _, [batch] in islice(iterate_updates(trainer.components.batches, DataCursor(), 1), count)]


def use_threads(threads: int | None) -> None:
    if threads is not None:
        torch.set_num_threads(threads)


def measure(trainers: Mapping[str, Trainer], batches: Sequence[Batch], warm_up: int, updates: int) -> Rounds:
    """Warm up, then run rounds of `updates` batches per trainer until the batches are used up.

    Every second round runs in reverse order.
    """
    for trainer in trainers.values():
        take_turn(trainer, batches[:warm_up], 1)
    rounds: Rounds = {name: [] for name in trainers}
    for number, first in enumerate(range(warm_up, len(batches), updates)):
        order = 1 if number % 2 == 0 else -1
        for name in list(trainers)[::order]:
            turn = take_turn(trainers[name], batches[first : first + updates], first + 1)
            log(f"round {number + 1}, {name}: {turn.tokens_per_second:,.0f} tokens/s")
            rounds[name].append(turn)
    return rounds


def take_turn(trainer: Trainer, batches: Sequence[Batch], step: int) -> Turn:
    """Train on these batches; `step` is the number of the first update."""
    tokens = sum(int(batch.target.mask.sum()) for batch in batches)
    started = time.perf_counter()
    losses = [trainer(batch, number) for number, batch in enumerate(batches, step)]
    seconds = time.perf_counter() - started
    return Turn(tokens / seconds, seconds / len(batches), sum(losses) / len(losses))


def summarize_speeds(rounds: Rounds) -> dict[str, dict[str, Summary]]:
    """Summarize the tokens per second of each trainer, and their ratio to the first trainer within each round."""
    speeds = {name: [turn.tokens_per_second for turn in turns] for name, turns in rounds.items()}
    first = next(iter(speeds.values()))
    return {
        name: {
            "tokens_per_second": summarize(values),
            "times_first": summarize([value / reference for value, reference in zip(values, first, strict=True)]),
        }
        for name, values in speeds.items()
    }
