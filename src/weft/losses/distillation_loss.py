"""Word-level knowledge distillation from a trained teacher. Kim & Rush 2016; Hinton et al. 2015."""

import torch
from torch import Tensor
from torch.utils.checkpoint import checkpoint

from weft.core.errors import ConfigError, ConfigProblem
from weft.core.setting_types import PositiveFloat, PositiveInt, Rate, UnitInterval
from weft.data.batches import Batch
from weft.losses.cross_entropy import chunk_length, cross_entropy
from weft.losses.objective import Loss, ObjectiveContext
from weft.models.interfaces import Head
from weft.models.model import Model


class DistillationLoss:
    """loss = (1 - w) cross-entropy + w T^2 sum_t sum_v -p_v log q_v, p = softmax(teacher / T), q = softmax(own / T).

    Word-level distillation, Kim & Rush 2016, section 3.1; the temperature T, and T^2, which preserves the gradient's
    size, are those of Hinton et al. 2015, section 2. teacher: a run or model folder with the same tokenizers; it reads
    the true tokens as the student does, and is frozen. In validation the loss is plain cross-entropy.
    """

    def __init__(
        self,
        context: ObjectiveContext,
        *,
        teacher: str = "",
        weight: UnitInterval = 0.5,
        temperature: PositiveFloat = 1.0,
        label_smoothing: Rate = 0.0,
        chunk_size: PositiveInt | None = None,
    ):
        if not teacher:
            raise ConfigError(
                [ConfigProblem("objective.teacher", "names no folder: give the run folder of a trained model")]
            )
        self.teacher = context.load_model(teacher)
        self.weight = weight
        self.temperature = temperature
        self.label_smoothing = label_smoothing
        self.chunk_size = chunk_size

    def __call__(self, model: Model, batch: Batch, step: int | None = None) -> Loss:
        outputs = model.features(batch).hidden
        if step is None:
            return cross_entropy(model.head, outputs, batch.target, chunk_size=self.chunk_size)
        plain = cross_entropy(model.head, outputs, batch.target, self.label_smoothing, self.chunk_size)
        distilled = self._distillation_loss(model.head, outputs[batch.target.mask], batch)
        total = (1 - self.weight) * plain.total + self.weight * distilled
        return Loss(total, plain.count, {**plain.parts, "teacher": distilled.detach()})

    def _distillation_loss(self, head: Head, hidden: Tensor, batch: Batch) -> Tensor:
        """Sum over hidden [M,D] in chunks, whose logits are computed again for their gradient."""
        with torch.no_grad():
            taught = self.teacher.features(batch).hidden[batch.target.mask]  # [M,D of the teacher]
        length = chunk_length(hidden, self.chunk_size)
        chunks = [
            checkpoint(self._chunk_loss, head, *chunk, use_reentrant=False, preserve_rng_state=False)
            for chunk in zip(torch.split(hidden, length), torch.split(taught, length), strict=True)
        ]
        return torch.stack(chunks).sum()

    def _chunk_loss(self, head: Head, hidden: Tensor, taught: Tensor) -> Tensor:
        p = (self.teacher.head(taught) / self.temperature).softmax(-1)
        log_q = (head(hidden) / self.temperature).log_softmax(-1)
        return -(self.temperature**2) * (p * log_q).sum()
