"""Sides that take turns at training, so that a busy machine slows all of them."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from typing import Annotated, NamedTuple, TypeAlias

import torch
import typer
from benchmarks.spreads import Spread, spread
from benchmarks.telling import tell

from weft.data.batches import Batch

RoundCount = Annotated[int, typer.Option(min=1)]
Updates = Annotated[int, typer.Option(min=1, help="Updates of each side in a round.")]
WarmUp = Annotated[int, typer.Option(min=1, help="Updates before the first round.")]
Threads = Annotated[int | None, typer.Option(min=1, help="Default: as torch chooses.")]

Side: TypeAlias = Callable[[Batch, int], float]  # an update with the batch, and its number -> the mean loss


class Turn(NamedTuple):
    """A few updates of one side."""

    tokens_per_second: float
    seconds_per_update: float
    loss: float  # mean


Rounds: TypeAlias = dict[str, list[Turn]]  # the turns of each side


def use_threads(threads: int | None) -> None:
    if threads is not None:
        torch.set_num_threads(threads)


def measure(sides: Mapping[str, Side], batches: Sequence[Batch], warm_up: int, updates: int) -> Rounds:
    """Warm up, then rounds of `updates` batches in which each side takes its turn, until the batches are used up."""
    for side in sides.values():
        take_turn(side, batches[:warm_up], 1)
    rounds: Rounds = {name: [] for name in sides}
    for number, first in enumerate(range(warm_up, len(batches), updates)):
        order = 1 if number % 2 == 0 else -1
        for name in list(sides)[::order]:
            turn = take_turn(sides[name], batches[first : first + updates], first + 1)
            tell(f"round {number + 1}, {name}: {turn.tokens_per_second:,.0f} tokens/s")
            rounds[name].append(turn)
    return rounds


def take_turn(side: Side, batches: Sequence[Batch], step: int) -> Turn:
    """Train on these batches; `step` is the number of the first update."""
    tokens = sum(int(batch.target.mask.sum()) for batch in batches)
    started = time.perf_counter()
    losses = [side(batch, number) for number, batch in enumerate(batches, step)]
    seconds = time.perf_counter() - started
    return Turn(tokens / seconds, seconds / len(batches), sum(losses) / len(losses))


def speeds(rounds: Rounds) -> dict[str, dict[str, Spread]]:
    """Of each side the tokens a second, and how many times those of the first side they are within a round."""
    found = {name: [turn.tokens_per_second for turn in turns] for name, turns in rounds.items()}
    first = next(iter(found.values()))
    return {
        name: {
            "tokens_per_second": spread(ours),
            "times_first": spread([one / other for one, other in zip(ours, first, strict=True)]),
        }
        for name, ours in found.items()
    }
