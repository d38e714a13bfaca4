"""A lexical shortlist: the target pieces that a source may need, so that no others are computed.

Of each source piece the `best` targets by t(target | source) (lexicon.py) and the piece that is spelled the same; for
every source the `frequent` most frequent targets. Jean et al. 2015, section 4.1 ("candidate list").
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from weft.core.marks import BEGIN, END, FIRST_PIECE, PAD
from weft.text.lexicon import Lexicon
from weft.text.tokenizer import Tokenizer

Ids = NDArray[np.int32]


@dataclass(frozen=True)
class Shortlist:
    """always: the targets of every source. listed[starts[s] : starts[s + 1]]: those of the source piece s."""

    always: Ids
    starts: NDArray[np.int64]
    listed: Ids

    def of_piece(self, piece: int) -> Ids:
        return self.listed[self.starts[piece] : self.starts[piece + 1]]

    def has(self, row: Sequence[int], targets: Sequence[int]) -> bool:
        """Are these targets all among those of a source of these pieces?"""
        few = {target for target in targets if target not in self._always}
        return not few or few <= set().union(*(self.of_piece(piece).tolist() for piece in row))

    @cached_property
    def _always(self) -> frozenset[int]:
        return frozenset(self.always.tolist())

    def of_row(self, row: Sequence[int] | NDArray[np.int64]) -> Ids:
        """The targets of a source of these pieces, in their order, each once."""
        return np.unique(np.concatenate([self.always, *(self.of_piece(piece) for piece in row)]))


@dataclass(frozen=True)
class Size:
    """How many targets a source piece has, and how many every source has."""

    best: int
    frequent: int


def make_shortlist(
    lexicon: Lexicon, used: NDArray[np.int64], source: Tokenizer, target: Tokenizer, size: Size
) -> Shortlist:
    """used: how often each target piece is [V]."""
    most = np.argsort(-used, kind="stable")[: size.frequent]
    always = np.unique([*marks_of(target), *most[used[most] > 0]]).astype(np.int32)
    same = same_pieces(source, target)
    few = best_targets(lexicon, size.best)
    rows = [np.unique([*few.get(piece, ()), *same.get(piece, ())]).astype(np.int32) for piece in range(source.size)]
    return Shortlist(always, np.cumsum([0, *map(len, rows)]), np.concatenate(rows))


def marks_of(target: Tokenizer) -> tuple[int, ...]:
    """What every list holds: those that CTranslate2 never leaves out."""
    return BEGIN, END, PAD if target.unknown is None else target.unknown


def best_targets(lexicon: Lexicon, best: int) -> dict[int, NDArray[np.int64]]:
    """The most probable targets of each source piece; of equal ones, the lowest ids."""
    order = np.lexsort((lexicon.targets, -lexicon.probabilities, lexicon.sources))
    sources, firsts = np.unique(lexicon.sources, return_index=True)
    targets = np.split(lexicon.targets[order], firsts[1:])
    return {int(source): few[:best] for source, few in zip(sources, targets, strict=True)}


def same_pieces(source: Tokenizer, target: Tokenizer) -> Mapping[int, tuple[int]]:
    """The target piece that is spelled as a source piece: names and numbers are often copied."""
    known = {piece: (number,) for number, piece in enumerate(target.raw_pieces(), FIRST_PIECE)}
    pieces = enumerate(source.raw_pieces(), FIRST_PIECE)
    return {number: known[piece] for number, piece in pieces if piece in known}
