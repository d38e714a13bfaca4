"""From hypotheses to text; on request with unknown words replaced, word alignment and attention weights."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from typing import cast

import numpy as np

from weft.checkpoints.trained_model import TrainedModel
from weft.core.special_tokens import EOS
from weft.core.state import Hypothesis
from weft.data.text_files import replace_line_breaks
from weft.decoding.constraints.glossary import look_up_word
from weft.inference.translation import Alternative, AttentionWeights, TokenCandidate
from weft.text.marked_text import OPEN_TAGS
from weft.text.tokenizer import Tokenizer
from weft.text.word_alignment import (
    WeightArray,
    WordLink,
    align_words,
    make_word_links,
    source_word_indices,
    target_word_ranges,
)

WORD_PATTERN = re.compile(r"\w+")
REPLACEMENT_CHARACTER = "\ufffd".encode()


@dataclass(frozen=True)
class OutputOptions:
    """What a translation contains besides text and scores.

    alignment: aligned words. attention: weights of each token. top_tokens: how many of the most probable tokens at each
    position. replace_unknown: replace unknown words by the aligned source word, or its entry in the dictionary (Jean et
    al. 2015; Luong et al. 2015).
    """

    alignment: bool = False
    attention: bool = False
    top_tokens: int = 0
    replace_unknown: bool = False
    dictionary: Mapping[str, str] = field(default_factory=dict)

    @property
    def needs_attention(self) -> bool:
        return self.alignment or self.attention or self.replace_unknown


DEFAULT_OUTPUT = OutputOptions()


@dataclass(frozen=True)
class Postprocessor:
    """Converts hypotheses for a source line to text. source_length: how many tokens of the line the model read."""

    trained: TrainedModel
    options: OutputOptions
    line: str
    source_length: int

    def alternative(self, hypothesis: Hypothesis, ranking_score: float | None) -> Alternative:
        """The hypothesis as text, with unknown words replaced if requested."""
        return Alternative(
            self._text(hypothesis),
            hypothesis.score,
            tuple(self.target.tokens([*hypothesis.tokens, EOS])),
            hypothesis.token_scores,
            hypothesis.finished,
            ranking_score,
        )

    def alignment(self, hypothesis: Hypothesis) -> tuple[WordLink, ...] | None:
        """The aligned words, if requested."""
        if not self.options.alignment:
            return None
        target_words = target_word_ranges(self._token_texts(hypothesis))
        source_words = source_word_indices(self.line, self.source)[: self.source_length]
        pairs = align_words(self._weights(hypothesis), source_words, target_words)
        return make_word_links(pairs, self.line, self._text(hypothesis))

    def attention(self, hypothesis: Hypothesis) -> AttentionWeights | None:
        """The attention weights of each token, if requested."""
        if not self.options.attention:
            return None
        [ids] = self.source.encode([self.line])
        source_tokens = self.source.tokens([*ids[: self.source_length], EOS])
        weights = attention_matrix(hypothesis, self.source_length).tolist()
        return AttentionWeights(tuple(source_tokens), tuple(map(tuple, weights)))

    @property
    def source(self) -> Tokenizer:
        return cast(Tokenizer, self.trained.source_tokenizer)  # check_output_options ensures it where it is used

    @property
    def target(self) -> Tokenizer:
        return self.trained.target_tokenizer

    def _text(self, hypothesis: Hypothesis) -> str:
        (text,) = self.target.decode([hypothesis.tokens])
        if self._replaces_unknown(hypothesis):
            original = b"".join(self._token_bytes(hypothesis)).decode()
            replaced = b"".join(self._token_texts(hypothesis)).decode()
            text = replaced[len(original) - len(text) :]  # without the leading space, which decoding removes
        return replace_line_breaks(text)

    def _replaces_unknown(self, hypothesis: Hypothesis) -> bool:
        return self.options.replace_unknown and self.target.unknown_id in hypothesis.tokens

    def _token_bytes(self, hypothesis: Hypothesis) -> list[bytes]:
        """The text of each token, in text order."""
        space = b" " if self.target.joins_with_spaces else b""
        return [space + text for text in decode_token_bytes(self.target.reorder(hypothesis.tokens), self.target)]

    def _token_texts(self, hypothesis: Hypothesis) -> list[bytes]:
        """The text of each token, in text order, with unknown words replaced if requested."""
        texts, unknown_id = self._token_bytes(hypothesis), self.target.unknown_id
        if not self._replaces_unknown(hypothesis) or unknown_id is None or not self.source_length:
            return texts
        weights, tokens = self._weights(hypothesis), self.target.reorder(hypothesis.tokens)
        (unknown,) = self.target.token_bytes([unknown_id])
        return [
            text.replace(unknown.strip(), self._replacement(int(row.argmax())).encode())
            if token == unknown_id
            else text
            for token, text, row in zip(tokens, texts, weights, strict=True)
        ]

    def _weights(self, hypothesis: Hypothesis) -> WeightArray:
        """Attention weights [T,S] in text order, without EOS on either side."""
        rows = self.target.reorder(list(attention_matrix(hypothesis, self.source_length)[:-1, :-1]))
        return np.array(rows, dtype=np.float64).reshape(-1, self.source_length)

    def _replacement(self, position: int) -> str:
        """The replacement of an unknown token that attends to this source token: its word, or its letter."""
        line = self.line
        first, end = self.source.offsets(line)[position]
        start = first + len(line[first:end]) - len(line[first:end].lstrip())
        word = next((match[0] for match in WORD_PATTERN.finditer(line) if match.start() <= start < match.end()), None)
        two_unknown = self.target.decode([[cast(int, self.target.unknown_id)] * 2])[0]
        if word is None or " " not in two_unknown:  # the unknown token stands for a letter, not for a word
            word = line[first:end].strip()
        return look_up_word(word, self.options.dictionary)


def decode_token_bytes(ids: Sequence[int], tokenizer: Tokenizer) -> list[bytes]:
    """The bytes of each token; single bytes that together are not UTF-8 become U+FFFD each."""
    byte_ids, texts = set(tokenizer.byte_ids), list[bytes]()
    for are_bytes, run in groupby(ids, key=byte_ids.__contains__):
        tokens = tokenizer.token_bytes(run)
        if are_bytes:
            try:
                b"".join(tokens).decode()
            except UnicodeDecodeError:
                tokens = [REPLACEMENT_CHARACTER] * len(tokens)
        texts += tokens
    return _move_spaces(texts) if tokenizer.moves_spaces else texts


def _move_spaces(texts: Sequence[bytes]) -> list[bytes]:
    """Move a space after an open tag before it, as decoding does (text/tokenizer.py), tag by tag."""
    moved = list(texts)
    for tag in (tag.encode() for tag in reversed(OPEN_TAGS)):
        for number in range(len(moved) - 1):
            if moved[number].endswith(tag) and moved[number + 1].startswith(b" "):
                moved[number : number + 2] = moved[number].replace(tag, b" " + tag), moved[number + 1][1:]
    return moved


def token_candidates(
    positions: Sequence[Sequence[tuple[int, float]]], tokenizer: Tokenizer
) -> Iterator[tuple[TokenCandidate, ...]]:
    """Ids with their log-probabilities, for each position, as tokens."""
    for candidates in positions:
        tokens = tokenizer.tokens([number for number, _ in candidates])
        yield tuple(TokenCandidate(token, score) for token, (_, score) in zip(tokens, candidates, strict=True))


def attention_matrix(hypothesis: Hypothesis, source_length: int) -> WeightArray:
    """Attention weights [T,S] of each token, EOS last on both sides, without source padding."""
    return np.array([row[: source_length + 1] for row in hypothesis.attention], dtype=np.float64)
