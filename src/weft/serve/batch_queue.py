"""Dynamic batching: a bounded queue that translates lines of concurrent requests with equal options together."""

from __future__ import annotations

import asyncio
import logging
import time
from collections import deque
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from threading import Condition, Lock, Thread
from typing import NamedTuple, TypeAlias

from weft.core.errors import UserError
from weft.decoding.constraints.request import Request
from weft.inference.translation import Translation
from weft.serve.http_errors import ApiError, conflict_error
from weft.serve.limits import ServerLimits

MAX_WAIT_SHARE = 0.5  # of the timeout: a request that would wait longer is refused immediately
BATCH_WAIT_SECONDS = 0.002  # how long a batch waits for more lines under load
LOGGER = logging.getLogger("weft.serve")


@dataclass(frozen=True)
class DecodeOptions:
    """How to decode a line, and what to return. Lines with equal options can share a batch.

    None stands for the model's own setting. `tokens` adds tokens, their scores and the confidence.
    """

    beam: int | None = None
    n_best: int | None = None
    tokens: bool = False
    alignment: bool = False
    attention: bool = False
    top_tokens: int = 0


TEXT_ONLY = DecodeOptions()

PrefixCallback: TypeAlias = Callable[[list[str], str], None]  # receives the tokens so far and their text
TranslateBatch: TypeAlias = Callable[[DecodeOptions, Sequence[Request], PrefixCallback | None], list[Translation]]
BatchObserver: TypeAlias = Callable[[int], None]  # receives the size of each batch


class JobCancelledError(Exception):
    """Raised by a prefix callback whose client has disconnected."""


class TranslationJob:
    """The sentences of one request. It is created in the event loop; results may come from any thread, in any order.

    line_numbers: of the lines that the sentences belong to, from 0, for errors.
    """

    def __init__(
        self,
        requests: Sequence[Request],
        options: DecodeOptions,
        on_prefix: PrefixCallback | None = None,
        line_numbers: Sequence[int] | None = None,
    ):
        self.requests = tuple(requests)
        self.line_numbers = range(len(self.requests)) if line_numbers is None else line_numbers
        self.options = options
        self.on_prefix = on_prefix
        self.is_cancelled = False
        self._results: dict[int, Translation] = {}
        self._lock = Lock()
        self._loop = asyncio.get_running_loop()
        self._future: asyncio.Future[list[Translation]] = self._loop.create_future()
        if not self.requests:
            self._future.set_result([])

    def set_result(self, position: int, translation: Translation) -> None:
        with self._lock:
            self._results[position] = translation
            is_complete = len(self._results) == len(self.requests)
        if is_complete:
            results = [self._results[number] for number in range(len(self.requests))]
            self._finish(lambda: self._future.set_result(results))

    def fail(self, error: Exception) -> None:
        """Give up the job because one line cannot be translated."""
        self.is_cancelled = True
        self._finish(lambda: self._future.set_exception(error))

    async def wait(self, seconds: float) -> list[Translation]:
        """Return the translations in the order of the lines. Raise TimeoutError after this many seconds."""
        try:
            async with asyncio.timeout(seconds):
                return await self._future
        finally:
            self.is_cancelled = True

    def _finish(self, set_outcome: Callable[[], None]) -> None:
        self._loop.call_soon_threadsafe(lambda: None if self._future.done() else set_outcome())


class QueuedLine(NamedTuple):
    """A line of a job. Lines with equal keys may share a batch."""

    job: TranslationJob
    position: int
    request: Request
    key: Hashable


class BatchQueue:
    """The queue of one backend, emptied by `threads` threads that each translate one batch at a time.

    With `sampling`, outputs depend on the position in the batch (random draws), so every job is a batch of its own.
    """

    def __init__(
        self, translate: TranslateBatch, limits: ServerLimits, threads: int, sampling: bool, observe: BatchObserver
    ):
        self._translate_batch, self._limits, self._sampling, self._observe = translate, limits, sampling, observe
        self._lines: deque[QueuedLine] = deque()
        self._changed = Condition()
        self._closed = False
        self._last_batch_size = 0
        self._seconds_per_line = 0.0  # recent average; one slow batch, such as the first, counts little
        self._threads = [Thread(target=self._run, name="weft-batch", daemon=True) for _ in range(threads)]
        for thread in self._threads:
            thread.start()

    @property
    def waiting(self) -> int:
        """The number of lines that no thread has taken yet."""
        return len(self._lines)

    def put(self, job: TranslationJob) -> None:
        """Enqueue the lines of a job. Raise ApiError if too many lines wait, or would wait for too long."""
        lines = [
            QueuedLine(job, position, request, self._batch_key(job, request))
            for position, request in enumerate(job.requests)
        ]
        with self._changed:
            if not self._has_room(len(lines)):
                self._remove_cancelled()
            if not self._has_room(len(lines)):
                raise ApiError(429, "Too many requests: the queue is full. Try again in a moment.")
            self._lines.extend(lines)
            self._changed.notify(len(lines))

    def _has_room(self, new_lines: int) -> bool:
        """An empty queue accepts a job of any size."""
        total = len(self._lines) + new_lines
        is_too_slow = total * self._seconds_per_line > MAX_WAIT_SHARE * self._limits.timeout
        return not self._lines or (total <= self._limits.queue and not is_too_slow)

    def close(self) -> None:
        """Translate what is in the queue, then stop the threads."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()
        for thread in self._threads:
            thread.join()

    def _batch_key(self, job: TranslationJob, request: Request) -> Hashable:
        """Constraints can turn out to be impossible, so constrained lines are kept apart from plain ones."""
        if self._sampling or job.on_prefix is not None:
            return id(job)
        return job.options, request.is_plain

    def _run(self) -> None:
        while batch := self._take_batch():
            self._observe(len(batch))
            started = time.monotonic()
            self._translate(batch)
            seconds = (time.monotonic() - started) / len(batch) / len(self._threads)
            self._seconds_per_line = min(seconds, 0.8 * self._seconds_per_line + 0.2 * seconds)

    def _take_batch(self) -> list[QueuedLine]:
        """Take the oldest line and others with its key; nothing once the queue is closed and empty."""
        with self._changed:
            while True:
                self._changed.wait_for(lambda: self._lines or self._closed)
                if self._last_batch_size > 1:
                    self._changed.wait_for(
                        lambda: len(self._lines) >= self._limits.batch_size or self._closed, BATCH_WAIT_SECONDS
                    )
                self._remove_cancelled()
                if self._lines or self._closed:
                    break
            batch, remaining = list[QueuedLine](), deque[QueuedLine]()
            max_size = len(self._lines) if self._sampling else self._limits.batch_size
            for line in self._lines:
                (batch if line.key == self._lines[0].key and len(batch) < max_size else remaining).append(line)
            self._lines, self._last_batch_size = remaining, len(batch)
            return batch

    def _remove_cancelled(self) -> None:
        if any(line.job.is_cancelled for line in self._lines):
            self._lines = deque(line for line in self._lines if not line.job.is_cancelled)

    def _translate(self, batch: Sequence[QueuedLine]) -> None:
        """Translate a batch. If that fails, translate its lines one by one, so that no job suffers from another."""
        first = batch[0].job
        try:
            translations = self._translate_batch(first.options, [line.request for line in batch], first.on_prefix)
        except JobCancelledError:
            return
        except Exception as error:
            if not isinstance(error, UserError):
                LOGGER.exception("a batch of %d lines failed", len(batch))
            if len(batch) == 1:
                batch[0].job.fail(_line_error(error, batch[0].job.line_numbers[batch[0].position]))
                return
            for line in batch:
                if not line.job.is_cancelled:
                    self._translate([line])
            return
        for line, translation in zip(batch, translations, strict=True):
            line.job.set_result(line.position, translation)


def _line_error(error: Exception, number: int) -> ApiError:
    """Report the user's mistakes with the number of the line; hide anything else, which is the server's fault."""
    if isinstance(error, UserError):
        return conflict_error(f"line {number + 1}: {str(error).removeprefix('line 1: ')}")
    return ApiError(500, "The translation failed: internal server error.")
