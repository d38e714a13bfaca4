"""Words of token sequences: word spans, attention weights between words instead of tokens, and word alignments
taken from attention (Pharaoh format).
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import NamedTuple, TypeAlias
from unicodedata import category

import numpy as np
from numpy.typing import NDArray

from weft.text.tokenizer import SPACE_SYMBOL, Tokenizer

WeightArray: TypeAlias = NDArray[np.float64]
NON_SPACE = re.compile(r"\S+", re.ASCII)  # the words of an alignment, as programs that read it count them
NON_SPACE_BYTES = re.compile(rb"\S+")
UNSPACED_SCRIPTS = re.compile(
    "[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff]"
)  # Thai to Han


class TokenSpan(NamedTuple):
    """The tokens from `first` to before `end`, with a name for display."""

    name: str
    first: int
    end: int


def merge_weights(weights: WeightArray, target: Sequence[TokenSpan], source: Sequence[TokenSpan]) -> WeightArray:
    """Convert weights between tokens [T,S] to weights between adjacent spans.

    Sums over the tokens of a source span and averages over those of a target span, so rows still sum to 1.
    """
    columns = np.add.reduceat(weights, [span.first for span in source], axis=1)
    rows = np.add.reduceat(columns, [span.first for span in target], axis=0)
    means: WeightArray = rows / np.array([[span.end - span.first] for span in target])
    return means


def token_spans(ids: Sequence[int], tokenizer: Tokenizer) -> list[TokenSpan]:
    """Return a span for each id; spaces are displayed as "▁", bytes as characters where they are complete ones."""
    both = zip(tokenizer.token_bytes(ids), tokenizer.tokens(ids), strict=True)
    names = [_decode_bytes([spelling]).replace(" ", SPACE_SYMBOL) or name for spelling, name in both]
    return [TokenSpan(name, number, number + 1) for number, name in enumerate(names)]


def word_spans(ids: Sequence[int], tokenizer: Tokenizer) -> list[TokenSpan]:
    """Return a span for each word, for the punctuation before and after it, and for the end token, the last id.

    Where tokens are words (`tokens_are_words`), each token is a span.
    """
    tokens, spellings = token_spans(ids, tokenizer), tokenizer.token_bytes(ids[:-1])
    words = [part for word in _space_separated(ids[:-1], tokenizer) for part in _split_punctuation(word, spellings)]
    spans = [
        TokenSpan(
            _decode_bytes(tokenizer.reorder(spellings[word.start : word.stop])).strip(" ") or tokens[word.start].name,
            word.start,
            word.stop,
        )
        for word in words
    ]
    return [*spans, tokens[-1]]


def _space_separated(ids: Sequence[int], tokenizer: Tokenizer) -> list[range]:
    """Return the runs of tokens between spaces, a space belonging to what follows."""
    is_blank = [not spelling.strip(b" ") for spelling in tokenizer.token_bytes(ids)]
    pairs = tokenizer.decode(list(pairwise(ids)))  # some tokenizers add spaces only in decoding
    starts = [
        number
        for number, text in enumerate(pairs, 1)
        if " " in text.strip(" ") or (is_blank[number] and not is_blank[number - 1])
    ]
    bounds = range(len(ids) + 1) if tokens_are_words(ids, tokenizer) else [0, *starts, len(ids)]
    return [range(first, end) for first, end in pairwise(bounds)]


def tokens_are_words(ids: Sequence[int], tokenizer: Tokenizer) -> bool:
    """Whether a text without spaces has no larger units than its tokens: it is spelled letter by letter, or it is in a
    script that is written without spaces.
    """
    text, spellings = tokenizer.decode([list(ids)])[0], tokenizer.token_bytes(ids)
    is_spelled = all(len(_decode_bytes([spelling])) <= 1 for spelling in spellings)
    return " " not in text.strip(" ") and (is_spelled or UNSPACED_SCRIPTS.search(text) is not None)


def begins_word(previous: int, token: int, tokenizer: Tokenizer) -> bool:
    """Whether a token after `previous` is not part of the same word: after a space, or from or to punctuation."""
    before, after = tokenizer.token_bytes([previous, token])
    has_space = " " in tokenizer.decode([[previous, token]])[0].strip(" ") or not after.strip(b" ")
    return has_space or _is_punctuation(before) != _is_punctuation(after)


def _split_punctuation(word: range, spellings: Sequence[bytes]) -> list[range]:
    """Split off the punctuation before and after a word; punctuation within, as in "T-shirt", stays."""
    inner = [number for number in word if not _is_punctuation(spellings[number]) and spellings[number].strip(b" ")]
    if not inner:
        return [word]
    has_prefix = any(_is_punctuation(spelling) for spelling in spellings[word.start : inner[0]])
    bounds = {word.start, inner[0] if has_prefix else word.start, inner[-1] + 1, word.stop}
    return [range(first, end) for first, end in pairwise(sorted(bounds))]


def _is_punctuation(spelling: bytes) -> bool:
    text = _decode_bytes([spelling]).strip(" ")
    return text != "" and all(category(char)[0] in "PS" for char in text)


def _decode_bytes(spellings: Sequence[bytes]) -> str:
    return b"".join(spellings).decode("utf-8", "ignore")


class WordLink(NamedTuple):
    """An aligned source word and target word, by the offsets of their first characters."""

    source: int
    target: int


def align_words(
    weights: WeightArray, source_words: Sequence[int | None], target_words: Sequence[range]
) -> list[tuple[int, int]]:
    """Return for each target word the source word with the largest total weight, as (source, target) indices.

    weights: between tokens [T,S]. source_words: the word of each source token (None: whitespace). target_words: the
    words of each target token. Target words without any weight are omitted.
    """
    totals: dict[int, dict[int, float]] = {}
    for row, words in zip(weights, target_words, strict=True):
        for word in words:
            sums = totals.setdefault(word, {})
            for weight, source_word in zip(row.tolist(), source_words, strict=True):
                if source_word is not None:
                    sums[source_word] = sums.get(source_word, 0.0) + weight
    return [(max(sums, key=sums.__getitem__), word) for word, sums in sorted(totals.items()) if any(sums.values())]


def source_word_indices(line: str, tokenizer: Tokenizer) -> list[int | None]:
    """Return the index of the word that each token of the line belongs to; None for whitespace."""
    words = [word.span() for word in NON_SPACE.finditer(line)]
    starts = [start for start, _ in words]
    indices: list[int | None] = []
    for first, end in tokenizer.offsets(line):
        index = bisect_right(starts, end - 1) - 1  # by the last character, since a space precedes its word
        indices.append(index if index >= 0 and words[index][1] > first else None)
    return indices


def target_word_ranges(spellings: Sequence[bytes]) -> list[range]:
    """Return the indices of the words that each token is part of; a token may be only part of a character."""
    starts = [match.start() for match in NON_SPACE_BYTES.finditer(b"".join(spellings))]
    ends = np.cumsum([len(spelling) for spelling in spellings]).tolist()
    return [
        range(bisect_right(starts, end - len(spelling.lstrip())) - 1, bisect_right(starts, end - 1))
        if spelling.strip()
        else range(0)
        for spelling, end in zip(spellings, ends, strict=True)
    ]


def make_word_links(pairs: Iterable[tuple[int, int]], source: str, target: str) -> tuple[WordLink, ...]:
    """Convert word indices to offsets."""
    source_starts, target_starts = word_starts(source), word_starts(target)
    return tuple(WordLink(source_starts[i], target_starts[j]) for i, j in pairs)


def word_index_pairs(links: Iterable[WordLink], source: str, target: str) -> list[tuple[int, int]]:
    """Convert offsets to word indices, sorted."""
    source_starts, target_starts = word_starts(source), word_starts(target)
    return sorted(
        {(bisect_right(source_starts, link.source) - 1, bisect_right(target_starts, link.target) - 1) for link in links}
    )


def word_starts(line: str) -> list[int]:
    return [word.start() for word in NON_SPACE.finditer(line)]


def format_pharaoh(pairs: Iterable[tuple[int, int]]) -> str:
    """Return "0-0 1-2 2-1", the format of Pharaoh (Koehn 2004)."""
    return " ".join(f"{source}-{target}" for source, target in pairs)
