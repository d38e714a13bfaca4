"""A loss over whole words for models that predict them character by character."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import KW_ONLY, dataclass
from itertools import chain, islice

import torch
from torch import Tensor

from weft.core.padded import Padded
from weft.core.setting_types import PositiveInt, Rate, UnitInterval
from weft.data.batches import Batch
from weft.losses.cross_entropy import cross_entropy, group_sums, token_log_probs
from weft.losses.objective import Loss, ObjectiveContext
from weft.models.model import Model


@dataclass(frozen=True)
class WordLoss:
    """loss = sum over words of (1 - p^q) / q, where p = prod_i p(c_i | previous) is the probability to spell the word.

    The c_i are a word's tokens and what ends it, white space or EOS. With q = 1 this is the expected number of
    misspelled words, each after the true words before it, as WER counts them (the expected transcription loss of Graves
    & Jaitly 2014, exact instead of sampled since words are taken one at a time). q = 0, the limit, is -log p, which is
    cross-entropy: only with q > 0 does a word with one wrong letter count as much as one with three. In between it is
    the L_q loss of Zhang & Sabuncu 2018, of words; its gradient is that of -log p times p^q, so that words that are out
    of reach count little.

    The loss is (1 - w) of that + w of cross-entropy, w = cross_entropy_weight: it helps while no word is spelled yet.
    """

    context: ObjectiveContext
    _: KW_ONLY
    q: UnitInterval = 0.7
    cross_entropy_weight: UnitInterval = 0.5
    label_smoothing: Rate = 0.0
    chunk_size: PositiveInt | None = None

    def __call__(self, model: Model, batch: Batch, step: int | None = None) -> Loss:  # noqa: ARG002 (interface)
        outputs, target = model.features(batch).hidden, batch.target
        plain = cross_entropy(model.head, outputs, target, self.label_smoothing, self.chunk_size)
        token_scores = token_log_probs(model.head, outputs[target.mask], target.data[target.mask], self.chunk_size)
        indices = word_indices(self.context.decode, target)
        log_p = group_sums(token_scores, indices, int(indices.max()) + 1)
        words = -(torch.expm1(self.q * log_p) / self.q if self.q else log_p).sum()
        total = (1 - self.cross_entropy_weight) * words + self.cross_entropy_weight * plain.total
        return Loss(total, plain.count, {**plain.parts, "words": words.detach()})


def word_indices(decode: Callable[[Iterable[Sequence[int]]], list[str]], target: Padded) -> Tensor:
    """Return the word of each of the M tokens [M], counted through the batch.

    It is the last word of the text up to that token, whatever the tokenizer: so white space belongs to the word before
    it, EOS to the last word, and a token that starts with white space begins a word.
    """
    rows = [row[:length] for row, length in zip(target.data.tolist(), target.lengths().tolist(), strict=True)]
    prefixes = [[row[:end] for end in range(1, len(row) + 1)] for row in rows]
    lines = iter(decode(chain.from_iterable(prefixes)))
    indices: list[int] = []
    for row in rows:
        first = indices[-1] + 1 if indices else 0
        indices.extend(first + word for word in _last_word_indices(list(islice(lines, len(row)))))
    return torch.tensor(indices, device=target.data.device)


def _last_word_indices(prefixes: Sequence[str]) -> list[int]:
    """Return the index of the last word of each of the growing prefixes of a text.

    A decoded prefix that is not one of the text ends within a character of several bytes: it gets the word of the next.
    """
    words, word = [], 0
    for prefix in reversed(prefixes):
        if prefixes[-1].startswith(prefix):
            word = max(0, len(prefix.split()) - 1)
        words.append(word)
    return words[::-1]
