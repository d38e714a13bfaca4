"""What is thought of an output beside its frames: a language model, a bonus for each token, words that are allowed."""

from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray

from weft.core.marks import BEGIN, END
from weft.core.state import State
from weft.search.role import Given, Language
from weft.search.words import Places, Words, read_words

Numbers = NDArray[np.float64]


class Guided(NamedTuple):
    """A prefix: what its tokens have gained so far, what each next token would gain [V], and what its end would."""

    total: float
    gains: Numbers
    end: float
    state: State | None  # the language model's
    places: Places  # in the words


class Guide:
    """gain(token) = weight log p(token | before) + bonus, and minus infinity where no word goes on so."""

    def __init__(self, size: int, language: Language | None, weight: float, bonus: float, words: Words | None):
        self.size = size
        self.language = language
        self.weight = weight
        self.bonus = bonus
        self.words = words

    def start(self) -> Guided:
        """Of the empty prefix."""
        state = None if self.language is None else self.language.start
        return self._guided(0.0, BEGIN, state, frozenset() if self.words is None else self.words.start())

    def after(self, before: Guided, token: int) -> Guided:
        """Of the prefix that is one token longer."""
        places = before.places if self.words is None else self.words.after(before.places, token)
        return self._guided(before.total + float(before.gains[token]), token, before.state, places)

    def _guided(self, total: float, last: int, state: State | None, places: Places) -> Guided:
        thought, after = self._thought(last, state)
        end, gains = float(thought[END]), thought + self.bonus
        if self.words is not None:
            gains = np.where(self.words.allowed(places), gains, -np.inf)
            end = end if self.words.ends(places) else -np.inf
        return Guided(total, gains, end, after, places)

    def _thought(self, last: int, state: State | None) -> tuple[Numbers, State | None]:
        """What the language model says after the last token, times its weight; without one, nothing."""
        if self.language is None or state is None:
            return np.zeros(self.size), None
        said, after = self.language.step(torch.tensor([last]), state)
        return self.weight * said.log_probs[0].double().cpu().numpy(), after


def guide_of(given: Given, language: Language | None, weight: float, bonus: float, words: str | None) -> Guide:
    """The guide for a vocabulary; `words` is the name of a file."""
    listed = None if words is None else read_words(Path(words).expanduser(), given.encode, len(given.vocabulary))
    return Guide(len(given.vocabulary), language, weight, bonus, listed)
