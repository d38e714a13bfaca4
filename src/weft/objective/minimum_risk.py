"""Minimum risk training: what a model would write is scored by a metric, and the better is made likelier."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain
from typing import cast

import torch
from torch import Tensor

from weft.core import tree
from weft.core.marks import END
from weft.core.padded import Padded
from weft.core.types import Count, Positive, Share, Whole
from weft.data.batches import Batch
from weft.metric.costs import CostName, line_cost
from weft.model.model import Model
from weft.nn.memory import Memory
from weft.objective.cross_entropy import cross_entropy
from weft.objective.likelihood import sums, token_log_probs
from weft.objective.role import Given, Loss
from weft.objective.samples import Tokens, different, draw


class MinimumRisk:
    """risk = sum over sentences x of sum_{y in S(x)} Q(y | x) cost(y),  Q(y | x) = p(y | x)^alpha / sum_{S(x)} p^alpha.

    Shen et al. 2016, section 3 and algorithm 1: S(x) are `samples` outputs drawn from the model, each counted once, and
    with `reference` the true one. The loss is (1 - w) risk + w cross-entropy, w = `cross_entropy` (Edunov et al. 2018,
    section 3.3), both summed over sentences; w = 0 is Shen's own.

    cost: a name of weft/metric/costs.py. alpha: how much more the likelier outputs count; Shen's is 0.005, and 1 keeps
    the model's own proportions (Prabhavalkar et al. 2018). The gradient of the risk is in proportion to alpha: where w
    is above 0, an alpha near 1 is needed for the risk to be felt beside cross-entropy. An output may have
    `length_factor` x tokens of the reference + `length_extra` tokens. An update needs the time and memory of so many
    batches: give a smaller train.batch_tokens. It is for a model that writes well already: see train.start.

    In validation the loss is plain cross-entropy; what outputs cost is measured there by train.validation.metrics.
    """

    def __init__(
        self,
        given: Given,
        *,
        cost: CostName = "wer",
        samples: Count = 20,
        alpha: Positive = 0.005,
        reference: bool = True,
        cross_entropy: Share = 0.0,
        length_factor: Positive = 1.5,
        length_extra: Whole = 5,
        chunk: Count | None = None,
    ):
        self.decode = given.decode
        self.cost = line_cost(cost)
        self.samples = samples
        self.alpha = alpha
        self.reference = reference
        self.share = cross_entropy
        self.length_factor = length_factor
        self.length_extra = length_extra
        self.chunk = chunk

    def __call__(self, model: Model, batch: Batch, step: int | None = None) -> Loss:
        memory = model.encode(batch.source)
        outputs = model.decode(memory, batch.decoder_input().data).hidden
        plain = cross_entropy(model.head, outputs, batch.target, chunk=self.chunk)
        if step is None:
            return plain
        risk = self.risk(model, memory, batch, self.candidates(model, batch))
        total = (1 - self.share) * risk + self.share * plain.total
        return Loss(total, plain.count, {**plain.parts, "risk": risk.detach()})

    def candidates(self, model: Model, batch: Batch) -> list[list[Tokens]]:
        """S(x) of each sentence."""
        lengths = batch.target.lengths() - 1  # END is no token of an output
        limit = (self.length_factor * lengths).long() + self.length_extra
        if model.target.limit is not None:
            limit = limit.clamp(max=model.target.limit - 1)
        drawn = draw(model, batch.source, self.samples, limit)
        if self.reference:
            drawn = [[true, *outputs] for true, outputs in zip(rows_of(batch.target), drawn, strict=True)]
        return [different(outputs) for outputs in drawn]

    def risk(self, model: Model, memory: Memory, batch: Batch, candidates: Sequence[Sequence[Tokens]]) -> Tensor:
        """The expected cost, summed over the sentences; one without candidates has none."""
        if not any(candidates):
            return memory.keys.new_zeros(())
        counts = [len(outputs) for outputs in candidates]
        log_probs = self.log_probs(model, memory, batch, candidates)
        costs = log_probs.new_tensor(self.costs(batch.target, candidates))
        pairs = zip(torch.split(log_probs, counts), torch.split(costs, counts), strict=True)
        return torch.stack([(self.alpha * said).softmax(0) @ cost for said, cost in pairs]).sum()

    def log_probs(self, model: Model, memory: Memory, batch: Batch, candidates: Sequence[Sequence[Tokens]]) -> Tensor:
        """log p(y | x) of all candidates, one sentence's after another's; the source is encoded once."""
        sentences = [number for number, outputs in enumerate(candidates) for _ in outputs]
        rows = torch.tensor(sentences, device=memory.mask.device)
        repeated = cast(Memory, tree.select(memory, rows))
        outputs = Padded.of([[*tokens, END] for tokens in chain.from_iterable(candidates)]).to(rows.device)
        fed = batch._replace(target=outputs).decoder_input().data
        hidden = model.decode(repeated, fed).hidden[outputs.mask]
        said = token_log_probs(model.head, hidden, outputs.data[outputs.mask], self.chunk)
        return sums(said, outputs.mask.nonzero()[:, 0], len(rows))

    def costs(self, target: Padded, candidates: Sequence[Sequence[Tokens]]) -> list[float]:
        """What each candidate costs, in the same order."""
        references = self.decode(rows_of(target))
        lines = iter(self.decode(chain.from_iterable(candidates)))
        pairs = zip(references, candidates, strict=True)
        return [self.cost(next(lines), reference) for reference, outputs in pairs for _ in outputs]


def rows_of(target: Padded) -> list[Tokens]:
    """The tokens of each row, without END."""
    lengths = (target.lengths() - 1).tolist()
    return [tuple(row[:length]) for row, length in zip(target.data.tolist(), lengths, strict=True)]
