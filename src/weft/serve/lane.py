"""A bounded queue of lines in front of an engine, which takes those together that wait at the same time."""

from __future__ import annotations

import logging
import time
from collections import deque
from collections.abc import Callable, Hashable, Sequence
from threading import Condition, Thread
from typing import NamedTuple, TypeAlias

from weft.control.request import Request
from weft.core.errors import UserError
from weft.engine.translation import Translation
from weft.serve.limits import Limits
from weft.serve.manner import Manner
from weft.serve.order import DroppedError, Order, Tell
from weft.serve.refusal import RefusedError, contradiction

PATIENCE = 0.5  # of the seconds that a request has: what would wait longer is refused at once
LINGER = 0.002  # seconds that a batch waits for more lines, where lines come in numbers
LOG = logging.getLogger("weft.serve")

Answer: TypeAlias = Callable[[Manner, Sequence[Request], Tell | None], list[Translation]]
Watch: TypeAlias = Callable[[int], None]  # is told how many lines were translated at once


class Line(NamedTuple):
    """A line of an order. key: lines of equal keys may be translated together."""

    order: Order
    place: int
    key: Hashable

    @property
    def request(self) -> Request:
        return self.order.requests[self.place]


class Lane:
    """answer: the engine. threads: how many batches it takes at once. draws: whether what it says of a line depends on
    the place among the others, as where outputs are drawn at random: then the lines of an order are a batch.
    """

    def __init__(self, answer: Answer, limits: Limits, threads: int, draws: bool, watch: Watch):
        self._answer, self._limits, self._draws, self._watch = answer, limits, draws, watch
        self._lines: deque[Line] = deque()
        self._changed = Condition()
        self._closed = False
        self._last = 0  # lines in the last batch
        self._pace = (
            0.0  # seconds that a line takes of late; a single slow batch, as one that loads an engine, says little
        )
        self._threads = [Thread(target=self._work, name="weft-lane", daemon=True) for _ in range(threads)]
        for thread in self._threads:
            thread.start()

    @property
    def waiting(self) -> int:
        """Lines that no thread has taken yet."""
        return len(self._lines)

    def put(self, order: Order) -> None:
        """RefusedError if too many lines wait, or for too long."""
        lines = [Line(order, place, self._key(order, place)) for place in range(len(order.requests))]
        with self._changed:
            if not self._has_room(len(lines)):
                self._drop()
            if not self._has_room(len(lines)):
                raise RefusedError(429, "Too many requests: the queue is full. Try again in a moment.")
            self._lines.extend(lines)
            self._changed.notify(len(lines))

    def _has_room(self, more: int) -> bool:
        """Where no line waits, there is room for an order of any length."""
        together = len(self._lines) + more
        late = together * self._pace > PATIENCE * self._limits.seconds
        return not self._lines or (together <= self._limits.queue and not late)

    def close(self) -> None:
        """Finish what has been put in, then stop."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()
        for thread in self._threads:
            thread.join()

    def _key(self, order: Order, place: int) -> Hashable:
        """What is asked of a line can turn out to be impossible; lines of which nothing is asked are kept apart."""
        if self._draws or order.tell is not None:
            return id(order)
        request = order.requests[place]
        return order.manner, request.is_plain and not request.protect

    def _work(self) -> None:
        while batch := self._take():
            self._watch(len(batch))
            begun = time.monotonic()
            self._translate(batch)
            pace = (time.monotonic() - begun) / len(batch) / len(self._threads)
            self._pace = min(pace, 0.8 * self._pace + 0.2 * pace)

    def _take(self) -> list[Line]:
        """The line that has waited longest, and others that can go with it; none once the lane is closed and empty."""
        with self._changed:
            while True:
                self._changed.wait_for(lambda: self._lines or self._closed)
                if self._last > 1:
                    self._changed.wait_for(lambda: len(self._lines) >= self._limits.batch or self._closed, LINGER)
                self._drop()
                if self._lines:
                    return self._together()
                if self._closed:
                    return []

    def _drop(self) -> None:
        """Leave out lines that nobody waits for."""
        if any(line.order.dropped for line in self._lines):
            self._lines = deque(line for line in self._lines if not line.order.dropped)

    def _together(self) -> list[Line]:
        key, most = self._lines[0].key, len(self._lines) if self._draws else self._limits.batch
        taken, left = list[Line](), deque[Line]()
        for line in self._lines:
            (taken if line.key == key and len(taken) < most else left).append(line)
        self._lines, self._last = left, len(taken)
        return taken

    def _translate(self, batch: Sequence[Line]) -> None:
        """If a batch fails, each line by itself, so that no order suffers for another."""
        first = batch[0].order
        try:
            found = self._answer(first.manner, [line.request for line in batch], first.tell)
        except DroppedError:
            return
        except Exception as error:
            if not isinstance(error, UserError):
                LOG.exception("a batch of %d lines failed", len(batch))
            self._one_by_one(batch, error)
            return
        for line, translation in zip(batch, found, strict=True):
            line.order.fill(line.place, translation)

    def _one_by_one(self, batch: Sequence[Line], error: Exception) -> None:
        if len(batch) == 1:
            batch[0].order.fail(refusal_for(error, batch[0].place))
            return
        for line in batch:
            if not line.order.dropped:
                self._translate([line])


def refusal_for(error: Exception, place: int) -> RefusedError:
    """What a person can do something about is told, with the number of the line; anything else is our fault."""
    if isinstance(error, UserError):
        return contradiction(f"line {place + 1}: {str(error).removeprefix('line 1: ')}")
    return RefusedError(500, "The translation failed: this is a fault of the server.")
