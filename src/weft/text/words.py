"""Words that pieces are parts of; what is between pieces, such as attention, as it is between words."""

from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple, TypeAlias
from unicodedata import category

import numpy as np
from numpy.typing import NDArray

from weft.text.pieces import SHOWN_SPACE
from weft.text.tokenizer import Tokenizer

Numbers: TypeAlias = NDArray[np.float64]


class Span(NamedTuple):
    """The pieces from `first` to before `end`, under one name."""

    name: str
    first: int
    end: int


def merged(weights: Numbers, target: Sequence[Span], source: Sequence[Span]) -> Numbers:
    """Weights between pieces [T,S] as weights between spans, which follow each other without a gap.

    A word of the source is looked at as much as its pieces together; a word of the target looks as its pieces do on
    average. So the sum of a row stays 1.
    """
    columns = np.add.reduceat(weights, [span.first for span in source], axis=1)
    rows = np.add.reduceat(columns, [span.first for span in target], axis=0)
    means: Numbers = rows / np.array([[span.end - span.first] for span in target])
    return means


def pieces_of(ids: Sequence[int], tokenizer: Tokenizer) -> list[Span]:
    """A span for each id. Spaces are shown as "▁", bytes as the letters that they are, where they are whole letters."""
    both = zip(tokenizer.spelled(ids), tokenizer.pieces(ids), strict=True)
    names = [text_of([piece]).replace(" ", SHOWN_SPACE) or name for piece, name in both]
    return [Span(name, number, number + 1) for number, name in enumerate(names)]


def words_of(ids: Sequence[int], tokenizer: Tokenizer) -> list[Span]:
    """A span for each word between spaces, for the signs before and after it, and for the end mark, the last of ids.

    Where there is no space there are no words to find, as in Chinese or in a single word: the pieces stay.
    """
    pieces, spelled = pieces_of(ids, tokenizer), tokenizer.spelled(ids[:-1])
    words = [part for word in between_spaces(ids[:-1], tokenizer) for part in without_signs(word, spelled)]
    spans = [
        Span(
            text_of(tokenizer.ordered(spelled[word.start : word.stop])).strip(" ") or pieces[word.start].name,
            word.start,
            word.stop,
        )
        for word in words
    ]
    return [*spans, pieces[-1]]


def between_spaces(ids: Sequence[int], tokenizer: Tokenizer) -> list[range]:
    """The runs of pieces that no space divides, a space being with what follows; without any space, each piece."""
    blank = [not piece.strip(b" ") for piece in tokenizer.spelled(ids)]
    together = tokenizer.decode(list(pairwise(ids)))  # some kinds have no spaces in their pieces, but put them between
    starts = [
        number
        for number, text in enumerate(together, 1)
        if " " in text.strip(" ") or (blank[number] and not blank[number - 1])
    ]
    bounds = [0, *starts, len(ids)] if starts else range(len(ids) + 1)
    return [range(first, end) for first, end in pairwise(bounds)]


def without_signs(word: range, spelled: Sequence[bytes]) -> list[range]:
    """The signs before a word, the word, and the signs after it; signs within, as in "T-shirt", belong to it."""
    letters = [number for number in word if not is_sign(spelled[number]) and spelled[number].strip(b" ")]
    if not letters:
        return [word]
    signs_before = any(is_sign(piece) for piece in spelled[word.start : letters[0]])
    bounds = {word.start, letters[0] if signs_before else word.start, letters[-1] + 1, word.stop}
    return [range(first, end) for first, end in pairwise(sorted(bounds))]


def is_sign(piece: bytes) -> bool:
    """Punctuation or symbols and nothing else."""
    text = text_of([piece]).strip(" ")
    return text != "" and all(category(letter)[0] in "PS" for letter in text)


def text_of(pieces: Sequence[bytes]) -> str:
    """What the bytes spell, without parts of letters."""
    return b"".join(pieces).decode("utf-8", "ignore")
