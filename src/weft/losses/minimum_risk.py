"""Minimum risk training: sample outputs, score them with a metric, minimize the expected cost.

Shen et al. 2016; Edunov et al. 2018.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import KW_ONLY, dataclass
from itertools import chain
from typing import TypeAlias, cast

import torch
from torch import Tensor

from weft.core.padded import Padded
from weft.core.setting_types import NonNegativeInt, PositiveFloat, PositiveInt, UnitInterval
from weft.core.special_tokens import EOS
from weft.core.state import State, StepOutput, tree_select
from weft.data.batches import Batch
from weft.decoding.greedy import search_single
from weft.losses.cross_entropy import cross_entropy, group_sums, token_log_probs
from weft.losses.objective import Loss, ObjectiveContext
from weft.losses.scheduled_sampling import sample_from_logits
from weft.metrics.sentence_metrics import CostName, sentence_cost
from weft.models.model import Model
from weft.nn.encoder_memory import Memory

TokenIds: TypeAlias = tuple[int, ...]  # without EOS


@dataclass(frozen=True)
class MinimumRiskLoss:
    """risk = sum over sentences x of sum_{y in S(x)} Q(y | x) cost(y),  Q(y | x) = p(y | x)^alpha / sum_{S(x)} p^alpha.

    Shen et al. 2016, section 3 and algorithm 1: S(x) are the distinct outputs among `samples` draws from the model, and
    with include_reference the true one. The loss is (1 - w) risk + w cross-entropy, w = cross_entropy_weight (Edunov et
    al. 2018, section 3.3), both summed over sentences; Shen et al. have w = 0.

    cost: see metrics/sentence_metrics.py. alpha: the sharpness of Q; Shen et al. use 0.005, and 1 keeps the
    model's own proportions (Prabhavalkar et al. 2018). The gradient of the risk is proportional to alpha: with w > 0,
    alpha must be near 1 for the risk to matter. An output has at most `max_length_factor` x tokens of the reference +
    `max_length_extra` tokens. An update needs the time and memory of about `samples` batches: use a smaller
    train.batch_tokens. The model should be trained already: see train.initial_model.

    In validation the loss is plain cross-entropy; train.validation.metrics measure the cost of outputs there. The log
    has the risk per target token, as every part of a loss.
    """

    context: ObjectiveContext
    _: KW_ONLY
    cost: CostName = "wer"
    samples: PositiveInt = 20
    alpha: PositiveFloat = 0.005
    include_reference: bool = True
    cross_entropy_weight: UnitInterval = 0.0
    max_length_factor: PositiveFloat = 1.5
    max_length_extra: NonNegativeInt = 5
    chunk_size: PositiveInt | None = None

    def __call__(self, model: Model, batch: Batch, step: int | None = None) -> Loss:
        memory = model.encode(batch.source)
        hidden = model.decode(memory, batch.decoder_input().data).hidden
        plain = cross_entropy(model.head, hidden, batch.target, chunk_size=self.chunk_size)
        if step is None:
            return plain
        risk = self.risk(model, memory, batch, self.candidates(model, batch))
        total = (1 - self.cross_entropy_weight) * risk + self.cross_entropy_weight * plain.total
        return Loss(total, plain.count, {**plain.parts, "risk": risk.detach()})

    def candidates(self, model: Model, batch: Batch) -> list[list[TokenIds]]:
        """Return S(x) of each sentence."""
        lengths = batch.target.lengths() - 1  # without EOS
        limit = (self.max_length_factor * lengths).long() + self.max_length_extra
        if model.target.max_length is not None:
            limit = limit.clamp(max=model.target.max_length - 1)
        candidates = sample_outputs(model, batch.source, self.samples, limit)
        if self.include_reference:
            references = _target_ids(batch.target)
            candidates = [[true, *outputs] for true, outputs in zip(references, candidates, strict=True)]
        return [list(dict.fromkeys(outputs)) for outputs in candidates]

    def risk(self, model: Model, memory: Memory, batch: Batch, candidates: Sequence[Sequence[TokenIds]]) -> Tensor:
        """Return the expected cost, summed over the sentences; a sentence without candidates adds 0."""
        if not any(candidates):
            return memory.keys.new_zeros(())
        counts = [len(outputs) for outputs in candidates]
        log_probs = self._log_probs(model, memory, batch, candidates)
        cost, references = sentence_cost(self.cost), self.context.decode(_target_ids(batch.target))
        lines = self.context.decode(chain.from_iterable(candidates))
        repeated = [reference for reference, count in zip(references, counts, strict=True) for _ in range(count)]
        costs = [cost(line, reference) for line, reference in zip(lines, repeated, strict=True)]
        per_sentence = zip(
            torch.split(log_probs, counts), torch.split(log_probs.new_tensor(costs), counts), strict=True
        )
        return torch.stack([(self.alpha * log_p).softmax(0) @ row_costs for log_p, row_costs in per_sentence]).sum()

    def _log_probs(
        self, model: Model, memory: Memory, batch: Batch, candidates: Sequence[Sequence[TokenIds]]
    ) -> Tensor:
        """Return log p(y | x) of all candidates, sentence by sentence; the source is encoded once."""
        sentences = [number for number, outputs in enumerate(candidates) for _ in outputs]
        rows = torch.tensor(sentences, device=memory.mask.device)
        repeated = cast(Memory, tree_select(memory, rows))
        targets = Padded.from_rows([[*tokens, EOS] for tokens in chain.from_iterable(candidates)]).to(rows.device)
        inputs = batch._replace(target=targets).decoder_input().data
        hidden = model.decode(repeated, inputs).hidden[targets.mask]
        log_probs = token_log_probs(model.head, hidden, targets.data[targets.mask], self.chunk_size)
        return group_sums(log_probs, targets.mask.nonzero()[:, 0], len(rows))


@torch.no_grad()
def sample_outputs(model: Model, source: Padded, samples: int, limit: Tensor) -> list[list[TokenIds]]:
    """Sample outputs of each sentence token by token from the model's distribution; limit [B]: maximum length."""
    rows = torch.arange(len(limit), device=limit.device).repeat_interleave(samples)

    def step(tokens: Tensor, state: State) -> tuple[StepOutput, State]:
        output, after = model.step(tokens, state)
        return output._replace(attention=None), after  # the search would keep the attention of every output

    with evaluation_mode(model):  # without dropout: samples come from the model as it decodes
        state = model.start(model.encode(source)).select(rows, rows)
        # An empty list where all tokens have probability 0.
        found = search_single(step, state, limit[rows], lambda log_probs, *_: sample_from_logits(log_probs))
    return [
        [hypothesis.tokens for hypothesis in chain.from_iterable(found[first : first + samples])]
        for first in range(0, len(found), samples)
    ]


@contextmanager
def evaluation_mode(model: Model) -> Iterator[None]:
    was_training = model.training
    model.eval()
    try:
        yield
    finally:
        model.train(was_training)


def _target_ids(target: Padded) -> list[TokenIds]:
    lengths = (target.lengths() - 1).tolist()
    return [tuple(row[:length]) for row, length in zip(target.data.tolist(), lengths, strict=True)]
