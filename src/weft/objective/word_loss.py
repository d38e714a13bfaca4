"""A loss over whole words, for models that write them letter by letter."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import chain, islice

import torch
from torch import Tensor

from weft.core.padded import Padded
from weft.core.types import Count, Rate, Share
from weft.data.batches import Batch
from weft.model.model import Model
from weft.objective.cross_entropy import cross_entropy
from weft.objective.likelihood import sums, token_log_probs
from weft.objective.role import Given, Loss


class WordLoss:
    """loss = sum over words of (1 - p^q) / q, where p = prod_i p(c_i | before) is the probability to spell the word.

    The c_i are a word's tokens and what ends it, white space or END. With q = 1 this is the expected number of words
    that are not spelled as they should be, each after the true words before it, as WER counts them (the expected
    transcription loss of Graves & Jaitly 2014, exact instead of sampled since words are taken one at a time). With
    q = 0, the limit, it is -log p, which is cross-entropy: only with q > 0 does a word with one wrong letter count as
    much as one with three. In between it is the L_q loss of Zhang & Sabuncu 2018, of words; its gradient is
    that of -log p times p^q, so that words which are out of reach count little.

    The loss is (1 - w) of that + w of cross-entropy, w = `cross_entropy`: a model that spells no word yet needs it.
    """

    def __init__(
        self,
        given: Given,
        *,
        q: Share = 0.7,
        cross_entropy: Share = 0.5,
        smoothing: Rate = 0.0,
        chunk: Count | None = None,
    ):
        self.decode = given.decode
        self.q = q
        self.share = cross_entropy
        self.smoothing = smoothing
        self.chunk = chunk

    def __call__(self, model: Model, batch: Batch, step: int | None = None) -> Loss:  # noqa: ARG002 (as all objectives)
        outputs = model.features(batch).hidden
        plain = cross_entropy(model.head, outputs, batch.target, self.smoothing, self.chunk)
        words = self.of_words(model, outputs, batch.target)
        total = (1 - self.share) * words + self.share * plain.total
        return Loss(total, plain.count, {**plain.parts, "words": words.detach()})

    def of_words(self, model: Model, outputs: Tensor, target: Padded) -> Tensor:
        """The loss of the words of targets [B,T], after the decoder's outputs [B,T,D]."""
        numbers = word_numbers(self.decode, target)
        said = token_log_probs(model.head, outputs[target.mask], target.data[target.mask], self.chunk)
        log_probs = sums(said, numbers, int(numbers.max()) + 1)
        return -(torch.expm1(self.q * log_probs) / self.q if self.q else log_probs).sum()


def word_numbers(decode: Callable[[Iterable[Sequence[int]]], list[str]], target: Padded) -> Tensor:
    """Which word each of the M tokens belongs to [M], counted through the batch.

    It is the last word of the text up to that token, whatever the tokenizer: so white space belongs to the word before
    it, END to the last, and a piece that brings its own white space begins a word.
    """
    rows = [row[:length] for row, length in zip(target.data.tolist(), target.lengths().tolist(), strict=True)]
    prefixes = [[row[:end] for end in range(1, len(row) + 1)] for row in rows]
    lines = iter(decode(chain.from_iterable(prefixes)))
    numbers: list[int] = []
    for row in rows:
        first = numbers[-1] + 1 if numbers else 0
        numbers.extend(first + word for word in last_words(list(islice(lines, len(row)))))
    return torch.tensor(numbers, device=target.data.device)


def last_words(texts: Sequence[str]) -> list[int]:
    """The number of the last word in each of the longer and longer beginnings of a text, from 0.

    One that does not go on as the text does ends within a letter of several bytes: it has the word of the next one.
    """
    whole = texts[-1]
    words, word = [], 0
    for text in reversed(texts):
        if whole.startswith(text):
            word = max(0, len(text.split()) - 1)
        words.append(word)
    return words[::-1]
