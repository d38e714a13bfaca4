"""Runs of tokens, looked for in all hypotheses at once as these grow.

The algorithm is Shift-And (Baeza-Yates and Gonnet 1992): of each phrase is known, for every k, whether the last k
tokens are its first k. So a phrase that breaks off and begins again at once is not missed, nor one inside another.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Tensor
from torch.nn import functional as F

from weft.core.marks import PAD
from weft.search.guides.beside import for_each


class Phrase(NamedTuple):
    """Tokens that stand side by side. The first may be BEGIN: then they are the first of an output.

    bounded: it must end where a word ends; a token after it that joins on to its last word makes it another word.
    """

    tokens: tuple[int, ...]
    bounded: bool = False


class Phrases(NamedTuple):
    """Those of a batch of sentences, P for each, filled up with empty ones."""

    tokens: Tensor  # [B,P,L], PAD after the last
    lengths: Tensor  # [B,P]
    bounded: Tensor  # [B,P]

    @classmethod
    def of(cls, rows: Sequence[Sequence[Phrase]], device: torch.device) -> Phrases:
        """From a list for each sentence."""
        count = max(map(len, rows), default=0)
        width = max((len(phrase.tokens) for row in rows for phrase in row), default=0)
        full = [[*row, *[Phrase(())] * (count - len(row))] for row in rows]
        tokens = [[[*one.tokens, *[PAD] * (width - len(one.tokens))] for one in row] for row in full]
        lengths = [[len(one.tokens) for one in row] for row in full]
        bounded = [[one.bounded for one in row] for row in full]
        return cls(
            torch.tensor(tokens, device=device).view(len(rows), count, width),
            torch.tensor(lengths, device=device).view(len(rows), count),
            torch.tensor(bounded, device=device, dtype=torch.bool).view(len(rows), count),
        )

    def unbegun(self) -> Tensor:
        """[B,P,L], before the first token: no beginning of a phrase has been said."""
        return torch.zeros_like(self.tokens, dtype=torch.bool)

    def of_hypotheses(self, count: int) -> Phrases:
        """A row for each of `count` hypotheses."""
        return Phrases(*(for_each(part, count) for part in self))

    def follow(self, begun: Tensor, tokens: Tensor) -> Tensor:
        """What has been begun [...,P,L] after one token more [...]."""
        before = F.pad(begun[..., :-1], (1, 0), value=True)
        return before & (self.tokens == tokens[..., None, None])

    def complete(self, begun: Tensor) -> Tensor:
        """[...,P], whether the last tokens are the whole phrase."""
        last = (self.lengths - 1).clamp(min=0)[..., None].expand(*begun.shape[:-1], 1)
        return begun.gather(-1, last)[..., 0] & (self.lengths > 0)

    def progress(self, begun: Tensor) -> Tensor:
        """[...,P], how many of a phrase's first tokens are the last ones."""
        return (begun * torch.arange(1, begun.shape[-1] + 1, device=begun.device)).amax(-1)
