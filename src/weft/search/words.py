"""Outputs that are made of the words of a list."""

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from weft.core.errors import UserError
from weft.data.lines import read_lines

Places: TypeAlias = frozenset[int]
Encode: TypeAlias = Callable[[Sequence[str]], list[list[int]]]  # lines to target ids
START, AGAIN = 0, 1  # where the first word begins, and where another one does


class Words:
    """A graph of tokens: a tree of the words, from whose ends the tokens of a space lead to another word.

    A prefix may have come to several places of it: after "New" and a space, both "New York" and a new word can follow.
    With no space (None) an output is one word.
    """

    def __init__(self, spelled: Iterable[Sequence[int]], space: Sequence[int] | None, vocabulary: int):
        self.vocabulary = vocabulary
        self.edges: list[dict[int, set[int]]] = [{}, {}]
        self.whole = {self._grow(word) for word in spelled}
        self.edges[AGAIN] = self.edges[START]
        self.at_once = space is not None and not space  # does another word follow without a space?
        self._lead_on(space or ())

    def start(self) -> Places:
        return frozenset([START])

    def after(self, places: Places, token: int) -> Places:
        reached = {place for before in places for place in self.edges[before].get(token, ())}
        return frozenset(reached | {AGAIN} if self.at_once and reached & self.whole else reached)

    def allowed(self, places: Places) -> NDArray[np.bool_]:
        """[V], the tokens that may come next."""
        mask = np.zeros(self.vocabulary, bool)
        mask[[token for place in places for token in self.edges[place]]] = True
        return mask

    def ends(self, places: Places) -> bool:
        """May an output end here? After a word; and no word at all is an output, too."""
        return START in places or not places.isdisjoint(self.whole)

    def way_to_end(self) -> list[int]:
        """From each place, the fewest tokens to one where an output may end."""
        before: list[set[int]] = [set() for _ in self.edges]
        for place, edges in enumerate(self.edges):
            for to in set[int]().union(*edges.values()):
                before[to].add(place)
        ways, reached = [0] * len(self.edges), {START, *self.whole}
        known, steps = set(reached), 0
        while reached:
            steps += 1
            reached = {place for to in reached for place in before[to]} - known
            known |= reached
            for place in reached:
                ways[place] = steps
        return ways

    def _grow(self, word: Sequence[int]) -> int:
        """The place at the end of a word, with a way to it."""
        place = START
        for token in word:
            if token not in self.edges[place]:
                self.edges[place][token] = {self._new()}
            (place,) = self.edges[place][token]
        return place

    def _lead_on(self, space: Sequence[int]) -> None:
        """From the end of every word through the space to another one."""
        ends = set(self.whole)
        for number, token in enumerate(space, 1):
            to = AGAIN if number == len(space) else self._new()
            for place in ends:
                self.edges[place].setdefault(token, set()).add(to)
            ends = {to}

    def _new(self) -> int:
        self.edges.append({})
        return len(self.edges) - 1


def read_words(path: Path, encode: Encode, vocabulary: int) -> Words:
    """The words of a file, one a line, for a vocabulary of this size; those that are spelled with nothing are none."""
    words = sorted({line.strip() for line in read_lines(path)} - {""})
    spelled, twice = encode(words), encode([f"{word} {word}" for word in words])
    if not words:
        raise UserError(f"{path}: has no words; write one a line")
    if not any(spelled):
        raise UserError(
            f"{path}: the model can write none of its words, as {words[0]}: they have letters that it never saw "
            "(a capital is another letter than a small one)"
        )
    spaces = {space_between(*both, path) for both in zip(spelled, twice, strict=True) if both[0]}
    if len(spaces) > 1:
        raise other_spelling(path)
    return Words([word for word in spelled if word], spaces.pop(), vocabulary)


def space_between(alone: Sequence[int], twice: Sequence[int], path: Path) -> tuple[int, ...] | None:
    """The tokens between the two in "word word", if the second is spelled as the first; None if none can write it."""
    if not twice:
        return None
    space = twice[len(alone) : len(twice) - len(alone)]
    if [*twice] != [*alone, *space, *alone]:
        raise other_spelling(path)
    return tuple(space)


def other_spelling(path: Path) -> UserError:
    return UserError(
        "words: the target's tokenizer spells a word in another way after a space than at the beginning of a line, "
        f"so {path} cannot be used: that takes a tokenizer of characters or of whole words"
    )
