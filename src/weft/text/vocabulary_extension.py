"""Vocabulary extension: add the tokens of new text to a trained tokenizer, after the old ones, whose ids do not
change. Word-level kinds get new words; character, WordPiece and unigram tokenizers get new characters; BPE also
gets further merges (Sennrich et al. 2016).
"""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from typing import Any, NamedTuple, TypeAlias

import tokenizers

from weft.core.special_tokens import NUM_SPECIAL_TOKENS
from weft.text.tokenizer import BYTE_TOKENS, Tokenizer

MIN_COUNT = 2  # occurrences of a new token
TokenPair: TypeAlias = tuple[str, str]


class ExtendedTokenizer(NamedTuple):
    """An extended tokenizer. old_ids: for each new token, the old ids that encoded it before."""

    tokenizer: Tokenizer
    old_ids: tuple[tuple[int, ...], ...]


def extend_tokenizer(tokenizer: Tokenizer, lines: Iterable[str], limit: int, *, merges: bool) -> ExtendedTokenizer:
    """Add at most `limit` tokens, the most frequent first. merges: also learn further merges, for BPE."""
    config: dict[str, Any] = json.loads(tokenizer.to_json())
    model: dict[str, Any] = config["model"]
    numbered = enumerate(tokenizer.raw_tokens(), NUM_SPECIAL_TOKENS)
    known: dict[str, tuple[int, ...]] = {token: (number,) for number, token in numbered}
    counts = _count_pre_tokens(tokenizer, lines)
    new: list[str] = []
    if model["type"] == "WordLevel":
        new = _frequent_new_items(counts, known, limit)
    elif not known.keys() <= set(BYTE_TOKENS):  # with bytes alone, every text has tokens already
        characters: Counter[str] = Counter()
        for text, count in counts.items():
            for char in text:
                characters[char] += count
        new = _frequent_new_items(characters, known, limit)
    old_ids = {text: _fallback_ids(tokenizer, text) for text in new}
    _append_tokens(model, new)
    if merges and model.get("merges"):
        known |= old_ids
        for left, right in _learn_merges(config, counts, known, limit - len(new)):
            known[left + right] = old_ids[left + right] = known[left] + known[right]
            model["merges"].append([left, right])
            _append_tokens(model, [left + right])
    library = tokenizers.Tokenizer.from_str(json.dumps(config))
    return ExtendedTokenizer(Tokenizer(library, tokenizer.order), tuple(old_ids.values()))


def _count_pre_tokens(tokenizer: Tokenizer, lines: Iterable[str]) -> Counter[str]:
    """Count the units that the tokenizer segments separately: words, or lines."""
    library = tokenizers.Tokenizer.from_str(tokenizer.to_json())
    splitter = library.pre_tokenizer
    counts: Counter[str] = Counter()
    for line in lines:
        text = library.normalizer.normalize_str(line.encode("utf-8", "replace").decode("utf-8"))
        counts.update([text] if splitter is None else [unit for unit, _ in splitter.pre_tokenize_str(text)])
    return counts


def _frequent_new_items(counts: Counter[str], known: Iterable[str], limit: int) -> list[str]:
    new = [item for item in counts.keys() - set(known) if counts[item] >= MIN_COUNT]
    return sorted(new, key=lambda item: (-counts[item], item))[:limit]


def _fallback_ids(tokenizer: Tokenizer, text: str) -> tuple[int, ...]:
    if tokenizer.unknown_id is not None:
        return (tokenizer.unknown_id,)
    return tuple(tokenizer.byte_ids[byte] for byte in text.encode())


def _append_tokens(model: dict[str, Any], tokens: Iterable[str]) -> None:
    if model["type"] == "Unigram":
        lowest = min(score for _, score in model["vocab"])
        model["vocab"].extend([token, lowest] for token in tokens)
    else:
        model["vocab"].update({token: number for number, token in enumerate(tokens, len(model["vocab"]))})


def _learn_merges(
    config: dict[str, Any], counts: Counter[str], known: Iterable[str], limit: int
) -> Iterator[TokenPair]:
    """Merge the most frequent pair of tokens, as in training, up to `limit` times."""
    library = tokenizers.Tokenizer.from_str(json.dumps(config))
    taken, unmergeable = set(known), {*BYTE_TOKENS, config["model"]["unk_token"]}
    words = [([token.value for token in library.model.tokenize(text)], count) for text, count in counts.items()]
    pairs = _PairCounts(words, unmergeable)
    for _ in range(limit):
        best = pairs.most_frequent(taken)
        if best is None:
            return
        taken.add(best[0] + best[1])
        yield best
        pairs.merge(best)


class _PairCounts:
    """Counts of adjacent token pairs, updated as pairs are merged."""

    def __init__(self, words: Sequence[tuple[list[str], int]], unmergeable: set[str]):
        self._words, self._unmergeable = list(words), unmergeable
        self._counts: Counter[TokenPair] = Counter()
        self._word_indices: defaultdict[TokenPair, set[int]] = defaultdict(set)
        for index in range(len(self._words)):
            self._update(index, 1)

    def most_frequent(self, taken: set[str]) -> TokenPair | None:
        frequent = [
            pair for pair, count in self._counts.items() if count >= MIN_COUNT and pair[0] + pair[1] not in taken
        ]
        return min(frequent, key=lambda pair: (-self._counts[pair], pair), default=None)

    def merge(self, pair: TokenPair) -> None:
        for index in sorted(self._word_indices[pair]):
            self._update(index, -1)
            merged: list[str] = []
            tokens, count = self._words[index]
            for token in tokens:
                if merged and (merged[-1], token) == pair:
                    merged[-1] += token
                else:
                    merged.append(token)
            self._words[index] = merged, count
            self._update(index, 1)

    def _update(self, index: int, sign: int) -> None:
        tokens, count = self._words[index]
        for pair in pairwise(tokens):
            if self._unmergeable.isdisjoint(pair):
                self._counts[pair] += sign * count
                (self._word_indices[pair].add if sign > 0 else self._word_indices[pair].discard)(index)
