"""Batches side by side: on a processor several threads take one each, instead of sharing every product of one.

A step of a search is a row of small operations. Where threads share them, each waits for the others after every one,
and on a busy machine it waits, spinning, for one that does not run.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextvars import ContextVar
from threading import Event
from typing import NamedTuple, TypeVar

import torch
from torch import Tensor

from weft.core.state import Scores, State, Step
from weft.core.watch import watched

LEAST = 1024  # tokens: smaller batches take longer for each

Item = TypeVar("Item")
Result = TypeVar("Result")

_broken_off: ContextVar[Event | None] = ContextVar("broken_off", default=None)


class BrokenOffError(Exception):
    """Nobody wants the result any more."""


class Workers(NamedTuple):
    """So many batches at once, of so many tokens each; the rest of the threads is theirs."""

    number: int
    tokens: int

    def __call__(self, work: Callable[[Item], Result], items: Sequence[Item]) -> Iterator[Result]:
        """The results in the order of the items. If one fails, or no more are asked for, the others break off."""
        count = min(self.number, len(items))
        return map(work, items) if count < 2 else _side_by_side(work, items, count)


def workers_for(device: torch.device, tokens: int) -> Workers:
    """Who shares `tokens` at once. What is watched is noted in its order, so by one; and a GPU is one already."""
    if device.type != "cpu" or watched():
        return Workers(1, tokens)
    count = max(1, min(torch.get_num_threads(), tokens // LEAST))
    return Workers(count, tokens // count)


def unless_broken_off(step: Step) -> Step:
    """The same step, which goes no further when the results are not wanted: a search would keep Ctrl-C waiting."""
    broken_off = _broken_off.get()
    if broken_off is None:
        return step

    def checked(tokens: Tensor, state: State) -> tuple[Scores, State]:
        if broken_off.is_set():
            raise BrokenOffError
        return step(tokens, state)

    return checked


def _side_by_side(work: Callable[[Item], Result], items: Sequence[Item], count: int) -> Iterator[Result]:
    threads, broken_off = torch.get_num_threads(), Event()

    def prepare() -> None:
        torch.set_num_threads(threads // count)  # of this thread
        _broken_off.set(broken_off)

    with ThreadPoolExecutor(count, "weft-batch", prepare) as pool:
        try:
            for result in [pool.submit(work, item) for item in items]:
                yield result.result()
        finally:
            broken_off.set()
            pool.shutdown(cancel_futures=True)
            torch.set_num_threads(threads)  # of threads that others begin
