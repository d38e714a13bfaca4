"""A tokenizer with more pieces than it has learned: those of new text, after the old ones, whose ids stay.

    word, whitespace             words or symbols that were unknown
    character, wordpiece, unigram   letters that were unknown, or spelled in bytes
    bpe                          such letters; and pieces, by merges that go on where the learned ones ended

More merges cut old text in another way, too, wherever the new pieces stand in it. The kinds wordpiece and unigram
would need the counts that their pieces were learned from to get longer ones.
"""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from typing import Any, NamedTuple, TypeAlias

import tokenizers

from weft.core.marks import FIRST_PIECE
from weft.text.pieces import BYTE_PIECES
from weft.text.tokenizer import Tokenizer

SEEN = 2  # times at least, for a new piece

Pair: TypeAlias = tuple[str, str]


class Growth(NamedTuple):
    """A tokenizer that has grown. spelled: for each new piece, the old ids that stood in its place before."""

    tokenizer: Tokenizer
    spelled: tuple[tuple[int, ...], ...]

    @property
    def pieces(self) -> list[str]:
        """The new ones, as a person sees them."""
        return self.tokenizer.pieces(range(self.tokenizer.size - len(self.spelled), self.tokenizer.size))


def grow(tokenizer: Tokenizer, lines: Iterable[str], room: int, *, merges: bool) -> Growth:
    """At most `room` new pieces, the most frequent first. merges: also longer ones, of which a kind has merges."""
    described: dict[str, Any] = json.loads(tokenizer.describe())
    old = {piece: number for number, piece in enumerate(tokenizer.raw_pieces(), FIRST_PIECE)}
    runs = count_runs(tokenizer, lines)
    spelled: dict[str, tuple[int, ...]] = {}
    if described["model"]["type"] == "WordLevel":
        spelled = {word: stand_in(tokenizer, word) for word in frequent(runs, old, room)}
    elif not old.keys() <= set(BYTE_PIECES):  # bytes have a piece for everything already
        spelled = {letter: stand_in(tokenizer, letter) for letter in frequent(letters_of(runs), old, room)}
    add(described["model"], spelled)
    if merges and described["model"].get("merges"):
        known = {**{piece: (number,) for piece, number in old.items()}, **spelled}
        for left, right in new_merges(described, runs, known, room - len(spelled)):
            known[left + right] = spelled[left + right] = known[left] + known[right]
            described["model"]["merges"].append([left, right])
            add(described["model"], {left + right: spelled[left + right]})
    library = tokenizers.Tokenizer.from_str(json.dumps(described))
    return Growth(Tokenizer(library, tokenizer.order), tuple(spelled.values()))


def count_runs(tokenizer: Tokenizer, lines: Iterable[str]) -> Counter[str]:
    """What is cut into pieces by itself, as the tokenizer parts a line: words, or whole lines."""
    library = tokenizers.Tokenizer.from_str(tokenizer.describe())
    counts: Counter[str] = Counter()
    for line in lines:
        text = library.normalizer.normalize_str(line.encode("utf-8", "replace").decode("utf-8"))
        splitter = library.pre_tokenizer
        counts.update([text] if splitter is None else [run for run, _ in splitter.pre_tokenize_str(text)])
    return counts


def letters_of(runs: Counter[str]) -> Counter[str]:
    counts: Counter[str] = Counter()
    for run, count in runs.items():
        for letter in run:
            counts[letter] += count
    return counts


def frequent(counts: Counter[str], known: Iterable[str], room: int) -> list[str]:
    """Those that are not known and were seen often enough; equals in the order of Unicode."""
    new = [item for item in counts.keys() - set(known) if counts[item] >= SEEN]
    return sorted(new, key=lambda item: (-counts[item], item))[:room]


def stand_in(tokenizer: Tokenizer, text: str) -> tuple[int, ...]:
    """The ids that the tokenizer has for a letter or word without a piece: bytes, or the unknown one."""
    if tokenizer.unknown is not None:
        return (tokenizer.unknown,)
    return tuple(tokenizer.byte_pieces[byte] for byte in text.encode())


def add(model: dict[str, Any], pieces: Iterable[str]) -> None:
    """Put pieces after those that a model, as the library's JSON has it, knows."""
    if model["type"] == "Unigram":
        lowest = min(score for _, score in model["vocab"])
        model["vocab"].extend([piece, lowest] for piece in pieces)
    else:
        model["vocab"].update({piece: number for number, piece in enumerate(pieces, len(model["vocab"]))})


def new_merges(described: dict[str, Any], runs: Counter[str], known: Iterable[str], room: int) -> Iterator[Pair]:
    """As in learning: the most frequent pair of pieces is joined, again and again (Sennrich et al. 2016)."""
    library = tokenizers.Tokenizer.from_str(json.dumps(described))
    taken, apart = set(known), {*BYTE_PIECES, described["model"]["unk_token"]}
    words = [([token.value for token in library.model.tokenize(run)], count) for run, count in runs.items()]
    pairs = PairCounts(words, apart)
    for _ in range(room):
        best = pairs.most_frequent(taken)
        if best is None:
            return
        taken.add(best[0] + best[1])
        yield best
        pairs.join(best)


class PairCounts:
    """How often each pair of neighbouring pieces stands in words, kept while pairs are joined."""

    def __init__(self, words: Sequence[tuple[list[str], int]], apart: set[str]):
        self.words, self.apart = list(words), apart
        self.counts: Counter[Pair] = Counter()
        self.places: defaultdict[Pair, set[int]] = defaultdict(set)
        for number in range(len(self.words)):
            self._count(number, 1)

    def most_frequent(self, taken: set[str]) -> Pair | None:
        """Of those that would make a new piece, if any was seen often enough."""
        found = [pair for pair, count in self.counts.items() if count >= SEEN and pair[0] + pair[1] not in taken]
        return min(found, key=lambda pair: (-self.counts[pair], pair), default=None)

    def join(self, pair: Pair) -> None:
        for number in sorted(self.places[pair]):
            self._count(number, -1)
            pieces, count = self.words[number]
            self.words[number] = joined(pieces, pair), count
            self._count(number, 1)

    def _count(self, number: int, sign: int) -> None:
        pieces, count = self.words[number]
        for pair in pairwise(pieces):
            if self.apart.isdisjoint(pair):
                self.counts[pair] += sign * count
                (self.places[pair].add if sign > 0 else self.places[pair].discard)(number)


def joined(pieces: Sequence[str], pair: Pair) -> list[str]:
    """With the pair as one piece, from the left."""
    found: list[str] = []
    for piece in pieces:
        if found and (found[-1], piece) == pair:
            found[-1] += piece
        else:
            found.append(piece)
    return found
