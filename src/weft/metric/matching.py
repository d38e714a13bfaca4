"""Which word of an output is which word of a reference: METEOR's alignment of unigrams."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import NamedTuple, TypeAlias

Keys: TypeAlias = Callable[[str], frozenset[Hashable]]  # two words match if they have a key in common
Places: TypeAlias = tuple[int | None, ...]  # for each word of the output its place in the reference
Used: TypeAlias = frozenset[int]  # places in the reference
WIDTH = 64


class _Partial(NamedTuple):
    """The first words of the output, aligned; used: their places in the reference; late: the sum of their stages."""

    places: Places = ()
    used: Used = frozenset()
    late: int = 0
    chunks: int = 0
    distance: int = 0

    def rank(self) -> tuple[int, int, int, int]:
        """The most matches, of these at the earliest stages, of these the fewest chunks, then the nearest places."""
        return -len(self.used), self.late, self.chunks, self.distance

    def future(self) -> tuple[Used, int | None]:
        """All that what comes next depends on."""
        return self.used, self.places[-1]

    def match(self, place: int, stage: int) -> _Partial:
        goes_on = bool(self.places) and self.places[-1] == place - 1
        distance = self.distance + abs(len(self.places) - place)
        places, used = (*self.places, place), self.used | {place}
        return _Partial(places, used, self.late + stage, self.chunks + (not goes_on), distance)

    def skip(self) -> _Partial:
        return self._replace(places=(*self.places, None))


class _Reference:
    """The words of a reference, and where each of them stands."""

    def __init__(self, words: Sequence[str]):
        self.words = words
        self._places = {word: {at for at, other in enumerate(words) if other == word} for word in set(words)}

    def free(self, word: str, used: Used) -> set[int]:
        """The places of this very word that are not used."""
        return self._places.get(word, set()) - used


class _Word(NamedTuple):
    """A word of the output, and what it may be matched with."""

    text: str
    stages: Mapping[int, int]  # places in the reference, and the stage at which the word matches there
    later: Counter[str]  # the words that come after it
    wanted: Used  # places where one of these may match

    def extend(self, partial: _Partial, reference: _Reference) -> list[_Partial]:
        """Matched with each place that is free for it; left out only where that may be of use to a later word."""
        free = [place for place in self.stages if self._may_have(place, partial, reference)]
        matched = [partial.match(place, self.stages[place]) for place in free]
        return matched if free and self.wanted.isdisjoint(free) else [*matched, partial.skip()]

    def _may_have(self, place: int, partial: _Partial, reference: _Reference) -> bool:
        """Is the place free, and not kept for later words that are equal to what stands there?"""
        other = reference.words[place]
        free = reference.free(other, partial.used)
        return place in free and (other == self.text or len(free) > self.later[other])


def align(output: Sequence[str], reference: Sequence[str], stages: Sequence[Keys]) -> Places:
    """The most matches, made at the earliest stages, in the fewest chunks: so METEOR has it since version 1.3.

    A chunk is a run of words that stand side by side, in the same order, in both (Denkowski & Lavie 2011, section 2;
    Banerjee & Lavie 2005 wanted the fewest crossings). At the first stage equal words match. Found by a beam search: in
    long lines of few different words there might be fewer chunks, never more matches.
    """
    whole, partials = _Reference(reference), [_Partial()]
    for word in _words(output, reference, stages):
        partials = _step(partials, word, whole)
    return partials[0].places


def count_chunks(places: Places) -> int:
    pairs = zip((None, *places), places, strict=False)
    return sum(place is not None and (before is None or before != place - 1) for before, place in pairs)


def _words(output: Sequence[str], reference: Sequence[str], stages: Sequence[Keys]) -> list[_Word]:
    """The words of the output, each with what comes after it."""
    later: Counter[str] = Counter()
    wanted: Used = frozenset()
    words = []
    for text, places in zip(reversed(output), reversed(_stages(output, reference, stages)), strict=True):
        words.append(_Word(text, places, later.copy(), wanted))
        later[text] += 1
        wanted = wanted.union(places)
    return words[::-1]


def _stages(output: Sequence[str], reference: Sequence[str], stages: Sequence[Keys]) -> list[Mapping[int, int]]:
    """For each word of the output the places of words that share a key with it, with the first such stage."""
    found: list[dict[int, int]] = [{} for _ in output]
    for stage, keys in enumerate(stages):
        wanted = [keys(word) for word in reference]
        for word, places in zip(output, found, strict=True):
            own = keys(word)
            for place, others in enumerate(wanted):
                if place not in places and not own.isdisjoint(others):
                    places[place] = stage
    return list(found)


def _step(partials: Sequence[_Partial], word: _Word, reference: _Reference) -> list[_Partial]:
    """One word more; of alignments with the same future the best is kept, and of all of them the best WIDTH."""
    new: dict[tuple[Used, int | None], _Partial] = {}
    for partial in partials:
        for longer in word.extend(partial, reference):
            old = new.setdefault(longer.future(), longer)
            if longer.rank() < old.rank():
                new[longer.future()] = longer
    return sorted(new.values(), key=_Partial.rank)[:WIDTH]
