"""Ctrl-C and kill: the first asks the run to finish its step and save, the second stops at once."""

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class Interrupt:
    """Was the run asked to stop, and by what?"""

    def __init__(self) -> None:
        self.signal: signal.Signals | None = None

    def __call__(self, number: int, _frame: FrameType | None) -> None:
        if self.signal is not None:
            raise KeyboardInterrupt
        self.signal = signal.Signals(number)


@contextmanager
def listening() -> Iterator[Interrupt]:
    """Signals inside the block are noted; what was done with them before holds again after it."""
    interrupt = Interrupt()
    before = {number: signal.signal(number, interrupt) for number in SIGNALS}
    try:
        yield interrupt
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
