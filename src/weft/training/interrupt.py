"""Ctrl-C and kill: the first asks the run to finish its step and save, the second stops at once."""

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

NAMES = ("SIGINT", "SIGTERM", "SIGHUP")


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
    """Signals inside the block are noted; what was done with them before holds again after it.

    One that is ignored stays so (nohup does that with SIGHUP). Only the main thread can listen.
    """
    interrupt = Interrupt()
    known = [signal.Signals[name] for name in NAMES if name in signal.Signals.__members__]
    heard = [number for number in known if signal.getsignal(number) is not signal.SIG_IGN]
    here = threading.current_thread() is threading.main_thread()
    before = {number: signal.signal(number, interrupt) for number in heard if here}
    try:
        yield interrupt
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
