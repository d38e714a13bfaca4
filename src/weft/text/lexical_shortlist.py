"""Lexical shortlist: the target tokens that a source sentence may need, so that the output layer computes no others.

For each source token the best targets by t(target | source) (ibm1.py) and the token that is spelled the same; for
every source the most frequent targets. Jean et al. 2015, section 4.1 ("candidate list").
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from weft.core.special_tokens import BOS, EOS, NUM_SPECIAL_TOKENS, PAD
from weft.text.ibm1 import TranslationTable
from weft.text.tokenizer import Tokenizer

IdArray = NDArray[np.int32]


@dataclass(frozen=True)
class Shortlist:
    """always: targets of every source. listed[starts[s] : starts[s + 1]]: targets of the source token s."""

    always: IdArray
    starts: NDArray[np.int64]
    listed: IdArray

    def for_token(self, token: int) -> IdArray:
        return self.listed[self.starts[token] : self.starts[token + 1]]

    def for_row(self, row: Sequence[int] | NDArray[np.int64]) -> IdArray:
        """Return the sorted targets of a source sentence."""
        return np.unique(np.concatenate([self.always, *map(self.for_token, row)]))

    def covers(self, row: Sequence[int], targets: Sequence[int]) -> bool:
        """Whether all targets are in the list of this source sentence."""
        return bool(np.isin(targets, self.for_row(row)).all())


@dataclass(frozen=True)
class ShortlistSize:
    """best: targets of each source token. frequent: targets of every source."""

    best: int
    frequent: int


def build_shortlist(
    table: TranslationTable, counts: NDArray[np.int64], source: Tokenizer, target: Tokenizer, size: ShortlistSize
) -> Shortlist:
    """counts: how often each target token occurs [V]. Every list contains the ids that CTranslate2 never omits.

    Tags are listed for themselves, as equal tokens are, and a space, which may precede a tag, for every source.
    """
    same = {text: number for number, text in enumerate(target.raw_tokens(), NUM_SPECIAL_TOKENS)}
    frequent = np.argsort(-counts, kind="stable")[: size.frequent]
    required = [BOS, EOS, PAD if target.unknown_id is None else target.unknown_id]
    if target.tag_ids and " " in same:
        required.append(same[" "])
    always = np.unique([*required, *frequent[counts[frequent] > 0]]).astype(np.int32)
    lists = dict.fromkeys(range(source.size), np.zeros(0, np.int64)) | best_targets(table, size.best)
    for number, text in enumerate(source.raw_tokens(), NUM_SPECIAL_TOKENS):
        if text in same:  # names and numbers are often copied
            lists[number] = np.append(lists[number], same[text])
    rows = [np.unique(lists[token]).astype(np.int32) for token in range(source.size)]
    return Shortlist(always, np.cumsum([0, *map(len, rows)]), np.concatenate(rows))


def best_targets(table: TranslationTable, count: int) -> dict[int, NDArray[np.int64]]:
    """Return the `count` most probable targets of each source token; among equals, the lowest ids."""
    order = np.lexsort((table.targets, -table.probabilities, table.sources))
    sources, firsts = np.unique(table.sources, return_index=True)
    targets = np.split(table.targets[order], firsts[1:])
    return {int(source): few[:count] for source, few in zip(sources, targets, strict=True)}
