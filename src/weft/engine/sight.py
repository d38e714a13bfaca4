"""A translation that can be looked at again: what is known of its words is found when somebody asks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise
from typing import NamedTuple, cast

import numpy as np

from weft.control.request import Request
from weft.core.marks import END
from weft.core.padded import Padded
from weft.engine.asked import Asked
from weft.engine.finding import Finder
from weft.engine.wanted import blindness
from weft.store.model_folder import Trained
from weft.text.tokenizer import Tokenizer
from weft.text.words import Numbers, Span, merged, words_of


class Word(NamedTuple):
    """A word of the text, with its tokens from `first` to before `end`; text: what it adds, the space before it too."""

    name: str
    text: str
    first: int
    end: int


class Looks(NamedTuple):
    """Where each word looked: weights [T,S] between the words of both sides, in their order, the end marks last."""

    source: tuple[str, ...]
    target: tuple[str, ...]
    weights: Numbers


@dataclass(frozen=True, slots=True)
class Sight:
    """What found a translation, what was asked for, and the tokens of the text.

    It is small and computes nothing by itself. When it is asked, the model is led along the tokens: nothing is searched
    again, so what is seen belongs to the very text, however that was found.
    """

    finder: Finder
    request: Request
    tokens: tuple[int, ...]

    @property
    def trained(self) -> Trained:
        return self.finder.trained

    def words(self) -> list[Word]:
        """Those of the text, in its order."""
        target = self.trained.target_tokenizer
        spans = target.ordered(self._spans()[:-1])
        ends = accumulate((span.end - span.first for span in spans), initial=0)
        said = target.ordered(self.tokens)
        texts = target.decode([target.ordered(said[:end]) for end in ends])
        added = [until[len(before) :] for before, until in pairwise(texts)]
        return [Word(span.name, text, span.first, span.end) for span, text in zip(spans, added, strict=True)]

    def blindness(self) -> str:
        """Why it cannot be told where words looked; empty if it can."""
        return blindness(self.trained)

    def looks(self) -> Looks:
        """Where each word looked, of a model without `blindness`."""
        [asked] = self._asked()
        [found] = self.finder.forced([asked], self._target())
        source, target = cast(Tokenizer, self.trained.source_tokenizer), self.trained.target_tokenizer
        columns, rows = words_of([*asked.row.tolist(), END], source), self._spans()
        weights = merged(np.array(found.attention, dtype=np.float64), rows, columns)
        order = [*target.ordered(range(len(rows) - 1)), len(rows) - 1]
        return Looks(_names(columns), tuple(rows[place].name for place in order), weights[order])

    def likeliest(self, count: int) -> list[list[tuple[int, float]]]:
        """The likeliest tokens at the place of each token and of the end, with their log-probabilities."""
        return self.finder.likeliest(self._asked(), self._target(), count)[0]

    def _spans(self) -> list[Span]:
        """The words in the order of the tokens, the end mark last."""
        return words_of([*self.tokens, END], self.trained.target_tokenizer)

    def _asked(self) -> list[Asked]:
        return self.finder.read([self.request], [0])

    def _target(self) -> Padded:
        return Padded.of([[*self.tokens, END]])


def _names(spans: Sequence[Span]) -> tuple[str, ...]:
    return tuple(span.name for span in spans)
