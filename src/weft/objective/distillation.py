"""Learning from what a trained model says of every token, not only from which token is right."""

import torch
from torch import Tensor
from torch.utils.checkpoint import checkpoint

from weft.core.errors import ConfigError, Problem
from weft.core.types import Count, Positive, Rate, Share
from weft.data.batches import Batch
from weft.model.model import Model
from weft.model.roles import Head
from weft.objective.cross_entropy import cross_entropy
from weft.objective.head_and_loss import positions
from weft.objective.role import Given, Loss


class Distillation:
    """loss = (1 - w) cross-entropy + w T^2 sum_t sum_v -p_v log q_v, p = softmax(teacher / T), q = softmax(own / T).

    Word-level distillation, Kim & Rush 2016, section 3.1; the temperature T, and T^2 which keeps the gradient's size,
    are those of Hinton et al. 2015, section 2. teacher: a run or model folder with the same tokenizers; it is fed the
    true tokens as the student is, and learns nothing. In validation the loss is plain cross-entropy.
    """

    def __init__(
        self,
        given: Given,
        *,
        teacher: str = "",
        weight: Share = 0.5,
        temperature: Positive = 1.0,
        smoothing: Rate = 0.0,
        chunk: Count | None = None,
    ):
        if not teacher:
            raise ConfigError([Problem("objective.teacher", "names no folder: give the run folder of a trained model")])
        self.teacher = given.load(teacher)
        self.weight = weight
        self.temperature = temperature
        self.smoothing = smoothing
        self.chunk = chunk

    def __call__(self, model: Model, batch: Batch, step: int | None = None) -> Loss:
        outputs = model.features(batch).hidden
        if step is None:
            return cross_entropy(model.head, outputs, batch.target, chunk=self.chunk)
        plain = cross_entropy(model.head, outputs, batch.target, self.smoothing, self.chunk)
        taught = self.from_teacher(model.head, outputs[batch.target.mask], batch)
        total = (1 - self.weight) * plain.total + self.weight * taught
        return Loss(total, plain.count, {**plain.parts, "teacher": taught.detach()})

    def from_teacher(self, head: Head, hidden: Tensor, batch: Batch) -> Tensor:
        """The second sum, some positions of hidden [M,D] at a time, whose logits are made again for their gradient."""
        with torch.no_grad():
            said = self.teacher.features(batch).hidden[batch.target.mask]  # [M,D of the teacher]
        few = positions(hidden, self.chunk)
        chunks = zip(torch.split(hidden, few), torch.split(said, few), strict=True)
        parts = [
            checkpoint(self.apart, head, mine, theirs, use_reentrant=False, preserve_rng_state=False)
            for mine, theirs in chunks
        ]
        return torch.stack(parts).sum()

    def apart(self, head: Head, mine: Tensor, theirs: Tensor) -> Tensor:
        """T^2 sum_v -p_v log q_v, summed over these positions."""
        wanted = (self.teacher.head(theirs) / self.temperature).softmax(-1)
        said = (head(mine) / self.temperature).log_softmax(-1)
        return -(self.temperature**2) * (wanted * said).sum()
