"""BPE-dropout (Provilkov et al. 2020): segment the same text differently each time.

Works on ids, because the random draws of the `tokenizers` library cannot be seeded.
"""

from collections.abc import Callable, Sequence
from itertools import pairwise
from random import Random
from typing import TypeAlias

from weft.text.tokenizer import SPACE_SYMBOL, Tokenizer

TokenNoise: TypeAlias = Callable[[Sequence[int], Random], list[int]]


class BPEDropout:
    """Splits words into characters and merges them again, skipping each candidate merge with probability `rate`.

    Algorithm 1 of the paper: at each step every candidate may be dropped, and the earliest learned of the others is
    applied; the word is finished when none is left. No merge spans a space, so words are what spaces separate.
    """

    def __init__(self, tokenizer: Tokenizer, rate: float):
        self.rate = rate
        self._tokenizer = tokenizer
        merges = tokenizer.merges()
        self._ranks = {(left, right): rank for rank, (left, right, _) in enumerate(merges)}
        self._merged = [merged for _, _, merged in merges]
        self._no_rank = len(merges)  # the rank of a pair without merge
        self._characters: dict[int, tuple[int, ...]] = {}  # of tokens that are the result of a merge
        for left, right, merged in merges:
            self._characters[merged] = self._split(left) + self._split(right)
        tokens = enumerate(tokenizer.vocabulary())
        self._word_starts = frozenset(token for token, text in tokens if text.startswith(SPACE_SYMBOL))

    def __call__(self, ids: Sequence[int], rng: Random) -> list[int]:
        if self.rate == 0.0:
            return list(ids)
        result: list[int] = []
        word: list[int] = []
        for token in self._tokenizer.reorder(ids):
            if token in self._word_starts:
                result += self._merge(word, rng)
                word = []
            word += self._split(token)
        return list(self._tokenizer.reorder(result + self._merge(word, rng)))

    def _split(self, token: int) -> tuple[int, ...]:
        return self._characters.get(token, (token,))

    def _merge(self, word: list[int], rng: Random) -> list[int]:
        ranks = [self._ranks.get(pair, self._no_rank) for pair in pairwise(word)]  # of each token with the next
        while (index := self._draw_merge(ranks, rng)) is not None:
            word[index : index + 2] = [self._merged[ranks[index]]]
            del ranks[index]
            for changed in range(max(index - 1, 0), min(index + 1, len(ranks))):
                ranks[changed] = self._ranks.get((word[changed], word[changed + 1]), self._no_rank)
        return word

    def _draw_merge(self, ranks: list[int], rng: Random) -> int | None:
        """Return the index of the next merge, or None if all were dropped; draw only where it can change the result."""
        best, chosen = self._no_rank, None
        for index, rank in enumerate(ranks):
            if rank < best and rng.random() >= self.rate:
                best, chosen = rank, index
        return chosen
