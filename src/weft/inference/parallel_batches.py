"""Decodes several batches at once on a CPU, one thread each, instead of every matrix product by all threads."""

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextvars import ContextVar
from threading import Event
from typing import NamedTuple, TypeVar

import torch
from torch import Tensor

from weft.core.state import State, StepFunction, StepOutput
from weft.core.tracing import is_tracing

MIN_BATCH_TOKENS = 1024  # smaller batches take longer per token

ItemT = TypeVar("ItemT")
ResultT = TypeVar("ResultT")

_cancelled: ContextVar[Event | None] = ContextVar("cancelled", default=None)


class BatchCancelledError(Exception):
    """The results are no longer needed."""


class BatchWorkers(NamedTuple):
    """`threads` that each decode batches of `tokens`; they share torch's own threads."""

    threads: int
    tokens: int

    def __call__(self, work: Callable[[ItemT], ResultT], items: Sequence[ItemT]) -> Iterator[ResultT]:
        """Yield the results in the order of the items. If one fails, or the caller stops, the others are cancelled."""
        count, threads, cancelled = min(self.threads, len(items)), torch.get_num_threads(), Event()
        if count < 2:
            yield from map(work, items)
            return

        def initialize() -> None:
            torch.set_num_threads(threads // count)  # of this worker
            _cancelled.set(cancelled)

        with ThreadPoolExecutor(count, "weft-batch", initialize) as pool:
            try:
                for result in [pool.submit(work, item) for item in items]:
                    yield result.result()
            finally:
                cancelled.set()
                pool.shutdown(cancel_futures=True)
                torch.set_num_threads(threads)  # the default of threads started later


def make_batch_workers(device: torch.device, tokens: int) -> BatchWorkers:
    """Workers that hold `tokens` together; one on a GPU, or while tensors are traced, which depends on the order."""
    if device.type != "cpu" or is_tracing():
        return BatchWorkers(1, tokens)
    count = max(1, min(torch.get_num_threads(), tokens // MIN_BATCH_TOKENS))
    return BatchWorkers(count, tokens // count)


def cancellable_step(step: StepFunction) -> StepFunction:
    """The step function, which raises BatchCancelledError once its batch is cancelled, so that Ctrl-C need not wait."""
    cancelled = _cancelled.get()
    if cancelled is None:
        return step

    def checked(tokens: Tensor, state: State) -> tuple[StepOutput, State]:
        if cancelled.is_set():
            raise BatchCancelledError
        return step(tokens, state)

    return checked
