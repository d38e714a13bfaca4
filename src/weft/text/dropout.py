"""BPE-dropout (Provilkov et al. 2020): the same text in other pieces, drawn anew each time.

The library can do this too, but its draws cannot be seeded; so here it is done on ids.
"""

from collections.abc import Callable, Sequence
from itertools import pairwise
from random import Random
from typing import TypeAlias

from weft.text.pieces import SHOWN_SPACE
from weft.text.tokenizer import Tokenizer

Noise: TypeAlias = Callable[[Sequence[int], Random], list[int]]


class BpeDropout:
    """Splits words into letters and merges again, leaving each candidate merge out with probability `rate`.

    Algorithm 1 of the paper: at each step every candidate may be dropped; of those that are left, the first learned is
    merged; a step where none is left is the last. No merge reaches over a space, so a word here is what stands from one
    space to the next.
    """

    def __init__(self, tokenizer: Tokenizer, rate: float):
        self.rate = rate
        self._tokenizer = tokenizer
        merges = tokenizer.merges()
        self._ranks = {(left, right): rank for rank, (left, right, _) in enumerate(merges)}
        self._wholes = [whole for _, _, whole in merges]
        self._never = len(merges)  # the rank of a pair that is not merged
        self._letters: dict[int, tuple[int, ...]] = {}  # of pieces that came from a merge
        for left, right, whole in merges:
            self._letters[whole] = self._split(left) + self._split(right)
        shown = enumerate(tokenizer.pieces(range(tokenizer.size)))
        self._first = frozenset(token for token, piece in shown if piece.startswith(SHOWN_SPACE))

    def __call__(self, ids: Sequence[int], draws: Random) -> list[int]:
        if self.rate == 0.0:
            return list(ids)
        dropped: list[int] = []
        word: list[int] = []
        for token in self._tokenizer.ordered(ids):
            if token in self._first:
                dropped += self._merge(word, draws)
                word = []
            word += self._split(token)
        return list(self._tokenizer.ordered(dropped + self._merge(word, draws)))

    def _split(self, token: int) -> tuple[int, ...]:
        return self._letters.get(token, (token,))

    def _merge(self, letters: list[int], draws: Random) -> list[int]:
        word = list(letters)
        ranks = [self._ranks.get(pair, self._never) for pair in pairwise(word)]  # of each piece with the next
        while (place := self._choose(ranks, draws)) is not None:
            word[place : place + 2] = [self._wholes[ranks[place]]]
            del ranks[place]
            for changed in range(max(place - 1, 0), min(place + 1, len(ranks))):
                ranks[changed] = self._ranks.get((word[changed], word[changed + 1]), self._never)
        return word

    def _choose(self, ranks: list[int], draws: Random) -> int | None:
        """Where the next merge is; None if all were dropped. A draw is made only where it can change the choice."""
        best, chosen = self._never, None
        for place, rank in enumerate(ranks):
            if rank < best and draws.random() >= self.rate:
                best, chosen = rank, place
        return chosen
