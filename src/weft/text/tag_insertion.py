"""Synthetic tags: insert tags into a sentence pair at places that word alignment connects, so that data without
placeholders and markup teaches a model where they go (as in the training of Bergamot's models for HTML, and of
placeholders in Crego et al. 2016).

Three kinds of places, which real text has too:

    gap     a single tag between words, before punctuation or at an end of both lines:  "Save ⟦1⟧ now"
    word    a single tag in the place of two aligned content words:                     "Hello ⟦1⟧!"
    phrase  an open and a close tag around a phrase and its translation:                "Click ⟦(1⟧on this⟦)1⟧."

A phrase pair is consistent with the links A between words if no link leaves it, and it has one (Och and Ney 2004,
section 3.2):

    for all (i, j) in A:  i1 <= i < i2  <=>  j1 <= j < j2

A gap divides both lines such that no link crosses it, next to at least one link.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from random import Random
from typing import Literal, NamedTuple, TypeAlias

from weft.text.marked_text import CLOSE_TAGS, OPEN_TAGS, SINGLE_TAGS
from weft.text.word_aligner import CJK_LETTERS, Word, WordAligner, WordLinks, split_words, word_keys

TagPlace: TypeAlias = Literal["gap", "word", "phrase"]
Spacing: TypeAlias = Literal["apart", "before", "after"]  # of a single tag in a gap: as a word, or joined to a word
PLACE_WEIGHTS: dict[TagPlace, int] = {"gap": 30, "word": 35, "phrase": 35}
COUNT_WEIGHTS = {1: 55, 2: 25, 3: 12, 4: 8}  # how often a pair gets this many tags or pairs of tags
SPACING_WEIGHTS: dict[Spacing, int] = {"apart": 70, "before": 15, "after": 15}
END_SHARE = 0.25  # of tags in gaps, as long as others are possible
MAX_PHRASE_WORDS = 6
UNSPACED = re.compile(f"[\u3001-\u303f\uff01-\uff60{CJK_LETTERS}]")  # usually without a space next to them


class AlignedPair(NamedTuple):
    """Source and target with their words and the links between them. content: links that a placeholder may replace."""

    lines: tuple[str, str]
    words: tuple[list[Word], list[Word]]
    links: WordLinks
    content: tuple[tuple[int, int], ...] = ()


class PhrasePair(NamedTuple):
    """Source words i1 to before i2, and target words j1 to before j2."""

    i1: int
    i2: int
    j1: int
    j2: int

    @property
    def size(self) -> int:
        return self.i2 - self.i1 + self.j2 - self.j1

    def contains(self, other: "PhrasePair") -> bool:
        source = self.i1 <= other.i1 and other.i2 <= self.i2
        return source and self.j1 <= other.j1 and other.j2 <= self.j2

    def is_apart_from(self, other: "PhrasePair") -> bool:
        source = self.i2 <= other.i1 or other.i2 <= self.i1
        return source and (self.j2 <= other.j1 or other.j2 <= self.j1)


class GapPair(NamedTuple):
    """The gaps before source word i and before target word j."""

    i: int
    j: int


def align_pair(aligner: WordAligner, source: str, target: str) -> AlignedPair:
    words = split_words(source), split_words(target)
    keys = word_keys(source, words[0]), word_keys(target, words[1])
    links = aligner.align(*keys)
    content = (
        (i, j)
        for i, j in sorted(links)
        if not (words[0][i].is_punctuation or words[1][j].is_punctuation)
        and not (aligner.is_frequent(keys[0][i], 0) or aligner.is_frequent(keys[1][j], 1))
    )
    return AlignedPair((source, target), words, links, tuple(content))


def insert_tags(pair: AlignedPair, rng: Random) -> tuple[str, str]:
    """Return the lines with one or a few tags; unchanged if a line has no words."""
    if not all(pair.words):
        return pair.lines
    chosen = _ChosenPlaces()
    (count,) = rng.choices(list(COUNT_WEIGHTS), list(COUNT_WEIGHTS.values()))
    for _ in range(count):
        (place,) = rng.choices(list(PLACE_WEIGHTS), list(PLACE_WEIGHTS.values()))
        match place:
            case "gap":
                chosen.add_gap(pair, rng)
            case "word":
                chosen.add_word(pair, rng)
            case "phrase":
                chosen.add_phrase(pair, rng)
    if not (chosen.gaps or chosen.words or chosen.phrases):
        chosen.add_gap(pair, rng)  # at an end, it is always possible
    source, target = (_render(pair, side, chosen) for side in (0, 1))
    return source, target


@dataclass
class _ChosenPlaces:
    """Places that fit together: phrases are nested or apart, and a gap is inside a phrase on both sides or on none."""

    gaps: dict[GapPair, Spacing] = field(default_factory=dict)
    words: list[tuple[int, int]] = field(default_factory=list)
    phrases: list[PhrasePair] = field(default_factory=list)

    def add_gap(self, pair: AlignedPair, rng: Random) -> None:
        ends = [GapPair(0, 0), GapPair(len(pair.words[0]), len(pair.words[1]))]
        inner = [gap for gap in inner_gaps(pair) if self._fits_gap(gap)]
        candidates = inner if inner and rng.random() >= END_SHARE else ends
        gap = rng.choice(candidates)
        if all(gap.i != other.i and gap.j != other.j for other in self.gaps):
            (self.gaps[gap],) = rng.choices(list(SPACING_WEIGHTS), list(SPACING_WEIGHTS.values()))

    def add_word(self, pair: AlignedPair, rng: Random) -> None:
        free = [link for link in pair.content if link not in self.words]
        if free:
            self.words.append(rng.choice(free))

    def add_phrase(self, pair: AlignedPair, rng: Random) -> None:
        fitting = [phrase for phrase in (*consistent_phrases(pair), _whole_lines(pair)) if self._fits_phrase(phrase)]
        if fitting:
            self.phrases.append(rng.choice(fitting))

    def _fits_gap(self, gap: GapPair) -> bool:
        return all((p.i1 < gap.i < p.i2) == (p.j1 < gap.j < p.j2) for p in self.phrases)

    def _fits_phrase(self, phrase: PhrasePair) -> bool:
        fits_phrases = all(
            phrase != other and (phrase.is_apart_from(other) or phrase.contains(other) or other.contains(phrase))
            for other in self.phrases
        )
        return fits_phrases and all(
            (phrase.i1 < gap.i < phrase.i2) == (phrase.j1 < gap.j < phrase.j2) for gap in self.gaps
        )


def inner_gaps(pair: AlignedPair) -> Iterator[GapPair]:
    """Yield the gaps that no link crosses; words without link next to a gap must not make its place uncertain."""
    sources, targets = map(len, pair.words)
    target_of = dict(pair.links)
    last = [-1] * (sources + 1)  # the last target word that is linked to a word before i
    first = [targets] * (sources + 1)  # the first target word that is linked to word i or one after it
    for i in range(sources):
        last[i + 1] = max(last[i], target_of.get(i, -1))
    for i in reversed(range(sources)):
        first[i] = min(first[i + 1], target_of.get(i, targets))
    for i in range(1, sources):
        follows, precedes = (i - 1, last[i]) in pair.links, (i, first[i]) in pair.links
        if last[i] < first[i] and (follows or precedes):
            if follows and precedes and last[i] + 1 < first[i]:
                continue  # words between without links: before or after the tag?
            yield GapPair(i, last[i] + 1 if follows else first[i])


def consistent_phrases(pair: AlignedPair) -> Iterator[PhrasePair]:
    """Yield the consistent phrase pairs of up to MAX_PHRASE_WORDS source words that begin and end with linked words."""
    target_of, source_of = dict(pair.links), {j: i for i, j in pair.links}
    bounds = sorted(
        i for i, j in pair.links if not (pair.words[0][i].is_punctuation or pair.words[1][j].is_punctuation)
    )
    for number, i1 in enumerate(bounds):
        for last in bounds[number:]:
            if last - i1 >= MAX_PHRASE_WORDS:
                break
            linked = [target_of[i] for i in range(i1, last + 1) if i in target_of]
            j1, j2 = min(linked), max(linked) + 1
            if all(i1 <= source_of.get(j, i1) <= last for j in range(j1, j2)) and _has_word_bounds(pair, j1, j2):
                yield PhrasePair(i1, last + 1, j1, j2)


def _has_word_bounds(pair: AlignedPair, j1: int, j2: int) -> bool:
    return not (pair.words[1][j1].is_punctuation or pair.words[1][j2 - 1].is_punctuation)


def _whole_lines(pair: AlignedPair) -> PhrasePair:
    return PhrasePair(0, len(pair.words[0]), 0, len(pair.words[1]))


def _render(pair: AlignedPair, side: int, chosen: _ChosenPlaces) -> str:
    line, words = pair.lines[side], pair.words[side]
    singles = iter(SINGLE_TAGS)
    gaps = {gap[side]: (next(singles), spacing) for gap, spacing in chosen.gaps.items()}
    replaced = {link[side]: next(singles) for link in chosen.words}
    opened, closed = _pair_tags(chosen.phrases, side)
    pieces: list[str] = []
    for number, word in enumerate(words):
        pieces.append(_fill_gap(line, words, number, gaps))
        pieces += opened.get(number, ())
        pieces.append(replaced.get(number, line[word.first : word.end]))
        pieces += closed.get(number, ())
    return "".join([*pieces, _fill_gap(line, words, len(words), gaps)])


def _pair_tags(phrases: Sequence[PhrasePair], side: int) -> tuple[dict[int, list[str]], dict[int, list[str]]]:
    """Return the open tags before and the close tags after words of a side, by index of the word."""
    opened, closed = dict[int, list[str]](), dict[int, list[str]]()
    for number in sorted(range(len(phrases)), key=lambda number: -phrases[number].size):  # outer ones first
        first, end = phrases[number][2 * side : 2 * side + 2]
        opened.setdefault(first, []).append(OPEN_TAGS[number])
        closed.setdefault(end - 1, []).insert(0, CLOSE_TAGS[number])
    return opened, closed


def _fill_gap(line: str, words: Sequence[Word], number: int, gaps: dict[int, tuple[str, Spacing]]) -> str:
    """Return the text between two words, or before the first or after the last, with the tag of this gap if it has one.

    The tag gets a space on sides where a word would have one, unless it is joined to the word there.
    """
    first = words[number - 1].end if number else 0
    end = words[number].first if number < len(words) else len(line)
    text = line[first:end]
    if number not in gaps:
        return text
    tag, spacing = gaps[number]
    space = "" if UNSPACED.search(line[first - 1 : first] + line[end : end + 1]) else " "
    if number == 0:
        return text + tag + (space if spacing != "after" else "")
    if number == len(words):
        return (space if spacing != "before" else "") + tag + text
    if text and spacing == "before":
        return tag + text
    left = text or (space if spacing != "before" and not words[number - 1].is_punctuation else "")
    return left + tag + (space if spacing != "after" and not words[number].is_punctuation else "")
