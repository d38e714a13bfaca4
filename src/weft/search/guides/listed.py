"""A step function whose outputs are made of the words of a list."""

from collections.abc import Iterable
from functools import lru_cache
from typing import NamedTuple, cast

import torch
from torch import Tensor

from weft.core.marks import BEGIN, END
from weft.core.state import Scores, State, Step
from weft.core.tree import Tree
from weft.search.allowed import IMPOSSIBLE
from weft.search.guides.beside import beside
from weft.search.words import AGAIN, START, Places, Words

NEVER = torch.iinfo(torch.int32).max
KEPT = 256  # places whose next tokens are kept, [V] each


class _Carry(NamedTuple):
    """Of each output, where in the words it has come to, and how many more tokens it may have [N]."""

    numbers: Tensor
    left: Tensor


class ListedWords:
    """The words of a list, and where in them outputs have come to: places have numbers, as a tensor carries them."""

    def __init__(self, words: Words):
        self._words = words
        self._way = words.way_to_end()
        self._numbers: dict[Places, int] = {}
        self._places: list[Places] = []
        self._needs = lru_cache(KEPT)(self._needed)
        self._first = self._after_each([START], torch.full((words.vocabulary,), NEVER, dtype=torch.int32))
        self.start = self._number(words.start())

    def after(self, numbers: Tensor, tokens: Tensor) -> Tensor:
        """Where each output has come to with its next token [N]; BEGIN leads nowhere."""
        both = zip(numbers.tolist(), tokens.tolist(), strict=True)
        reached = [
            number if token == BEGIN else self._number(self._words.after(self._places[number], token))
            for number, token in both
        ]
        return torch.tensor(reached, device=numbers.device)

    def allowed(self, numbers: Tensor, left: Tensor) -> Tensor:
        """Which tokens may come next [N,V], if so many more are allowed [N]: END only after a word."""
        needs = torch.stack([self._needs(number) for number in numbers.tolist()])
        return needs.to(left.device) <= left[:, None]

    def _number(self, places: Places) -> int:
        if places not in self._numbers:
            self._numbers[places] = len(self._places)
            self._places.append(places)
        return self._numbers[places]

    def _needed(self, number: int) -> Tensor:
        """[V], the fewest tokens from these places to the end of a word, if this one is taken; of END none."""
        places = self._places[number]
        first = {START, AGAIN} & places
        needs = self._first.clone() if first else torch.full_like(self._first, NEVER)
        self._after_each(places - first, needs)
        needs[END] = 0 if self._words.ends(places) else NEVER
        return needs

    def _after_each(self, places: Iterable[int], needs: Tensor) -> Tensor:
        """Write into `needs` what the tokens need that lead on from these places."""
        for place in places:
            for token, reached in self._words.edges[place].items():
                needs[token] = min(int(needs[token]), 1 + min(self._way[to] for to in reached))
        return needs


def of_words(step: Step, state: State, words: ListedWords, limit: Tensor) -> tuple[Step, State]:
    """The step that says nothing but words of the list, and its first state.

    limit [B]: the most tokens of each output. One that is too near to it begins no word that would not fit.
    """

    def advise(scores: Scores, tokens: Tensor, own: State) -> tuple[Scores, Tree]:
        numbers, left = cast(_Carry, own.carry)
        reached, left = words.after(numbers, tokens), left - (tokens != BEGIN).to(left)
        log_probs = scores.log_probs.masked_fill(~words.allowed(reached, left), IMPOSSIBLE)
        return scores._replace(log_probs=log_probs), _Carry(reached, left)

    return beside(step, state, State((), _Carry(torch.full_like(limit, words.start), limit)), advise)
