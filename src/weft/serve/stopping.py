"""What a signal to stop means: the first, to finish what was accepted; any other, to end at once."""

from __future__ import annotations

import os
from collections.abc import Callable

from weft.serve.snapshot import remove_all

INTERRUPTED = 130


class Stopping:
    """A handler of signals. stop: how to finish.

    The end is no matter of the event loop: that may be closed, and wait for a thread which looks inside a model.
    """

    def __init__(self, stop: Callable[[], object]):
        self._stop, self._is_asked = stop, False

    def __call__(self, _number: int, _frame: object) -> None:
        if self._is_asked:
            remove_all()
            end(INTERRUPTED)
        self._is_asked = True
        self._stop()


def end(code: int) -> None:
    """Of this process, whatever its threads do."""
    os._exit(code)
