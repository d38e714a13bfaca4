"""What every engine is: lines in, translations out."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Protocol

from weft.control.request import Request
from weft.engine.translation import Translation
from weft.text.reader import Reader


class Engine(Protocol):
    """A model ready to translate.

    Every engine gives one translation for each line, in their order, whatever the lines hold; a line does not depend on
    those beside it. The torch engine (translator.py) takes every model and all that can be asked of a line; another one
    takes some models, and is chosen only where it would say the same (choice.py).
    """

    @property
    def reader(self) -> Reader:
        """What reads the source."""
        ...

    @property
    def at_once(self) -> int:
        """How many threads may ask it at the same time, and gain by that."""
        ...

    def stream(self, lines: Iterable[str | Request]) -> Iterator[Translation]:
        """The translations as they come: memory does not grow with the number of lines."""
        ...

    def least_source_limit(self) -> int:
        """The most pieces of a line that it reads."""
        ...

    def line_by_line(self) -> Engine:
        """The same engine, which answers a line before it reads the next."""
        ...
