"""Text that is not one sentence a line: each sentence is translated, and the lines are put together as they were."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING

from weft.engine.translation import Translation
from weft.text.sentences import Layout, Splitter

if TYPE_CHECKING:
    from weft.control.checking import Checked


@dataclass(frozen=True)
class TranslatedLine:
    """What a line of any number of sentences became."""

    layout: Layout
    sentences: tuple[Translation, ...]

    @property
    def source(self) -> str:
        return self.layout.filled(self.layout.sentences)

    @property
    def text(self) -> str:
        return self.layout.filled([sentence.text for sentence in self.sentences])

    @property
    def checked(self) -> tuple[Checked, ...]:
        """What was asked for, of all sentences."""
        return tuple(one for sentence in self.sentences for one in sentence.checked)

    @property
    def cut(self) -> bool:
        """Some sentence was longer than the model can read."""
        return any(sentence.cut for sentence in self.sentences)


def translate_lines(
    stream: Callable[[Iterable[str]], Iterator[Translation]], lines: Iterable[str], splitter: Splitter
) -> Iterator[TranslatedLine]:
    """Each line with its sentences translated by `stream`, as soon as it is whole.

    A line without a sentence asks for the translation of an empty one, which costs nothing: so never more lines wait
    than `stream` reads ahead.
    """
    waiting: deque[Layout] = deque()

    def asked() -> Iterator[str]:
        for line in lines:
            layout = splitter(line)
            waiting.append(layout)
            yield from layout.sentences or [""]

    translations = stream(asked())
    for first in translations:
        layout = waiting.popleft()
        others = islice(translations, max(len(layout.sentences) - 1, 0))
        yield TranslatedLine(layout, (first, *others) if layout.sentences else ())
