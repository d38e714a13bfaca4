"""Analysis of a finished translation: its words, their attention, and the most probable tokens at each position."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import accumulate, pairwise
from typing import TYPE_CHECKING, NamedTuple, cast

import numpy as np

from weft.checkpoints.trained_model import TrainedModel
from weft.core.padded import Padded
from weft.core.special_tokens import EOS
from weft.decoding.constraints.request import Request
from weft.text.tokenizer import Tokenizer
from weft.text.word_alignment import TokenSpan, WeightArray, merge_weights, word_spans

if TYPE_CHECKING:
    from weft.inference.translator import Translator


class TranslatedWord(NamedTuple):
    """A word of the text and its tokens [first, end). text: what it adds to the text, a leading space included."""

    name: str
    text: str
    first: int
    end: int


class WordAttention(NamedTuple):
    """Attention weights [T,S] between the words of both sides, in text order, EOS last."""

    source: tuple[str, ...]
    target: tuple[str, ...]
    weights: WeightArray


@dataclass(frozen=True, slots=True)
class TranslationAnalysis:
    """Computes details by forced decoding of the tokens, so that they belong to this text however it was found."""

    translator: Translator
    request: Request
    tokens: tuple[int, ...]

    @property
    def trained(self) -> TrainedModel:
        return self.translator.trained

    def words(self) -> list[TranslatedWord]:
        """The words of the text, in its order."""
        target = self.trained.target_tokenizer
        spans = target.reorder(self._spans()[:-1])
        ends = accumulate((span.end - span.first for span in spans), initial=0)
        ids = target.reorder(self.tokens)
        texts = target.decode([target.reorder(ids[:end]) for end in ends])
        added = [after[len(before) :] for before, after in pairwise(texts)]
        return [TranslatedWord(span.name, text, span.first, span.end) for span, text in zip(spans, added, strict=True)]

    def word_attention(self) -> WordAttention:
        """Attention between words, of a model without `attention_obstacle`."""
        [encoded] = self.translator.encode([self.request], [0])
        [hypothesis] = self.translator.forced([encoded], self._target())
        source, target = cast(Tokenizer, self.trained.source_tokenizer), self.trained.target_tokenizer
        columns, rows = word_spans([*encoded.rows[0].tolist(), EOS], source), self._spans()
        weights = merge_weights(np.array(hypothesis.attention, dtype=np.float64), rows, columns)
        order = [*target.reorder(range(len(rows) - 1)), len(rows) - 1]
        names = tuple(rows[position].name for position in order)
        return WordAttention(tuple(column.name for column in columns), names, weights[order])

    def top_tokens(self, count: int) -> list[list[tuple[int, float]]]:
        """The most probable ids at the position of each token and of EOS, with their log-probabilities."""
        [encoded] = self.translator.encode([self.request], [0])
        return self.translator.top_tokens([encoded], self._target(), count)[0]

    def _spans(self) -> list[TokenSpan]:
        """The words in the order of the tokens, EOS last."""
        return word_spans([*self.tokens, EOS], self.trained.target_tokenizer)

    def _target(self) -> Padded:
        return Padded.from_rows([[*self.tokens, EOS]])
