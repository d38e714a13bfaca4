"""Cross-entropy with label smoothing. Szegedy et al. 2016, section 7."""

import torch
from torch import Tensor, nn

from weft.core.padded import Padded
from weft.core.setting_types import Factory, PositiveInt, Rate
from weft.data.batches import Batch
from weft.losses.chunked_cross_entropy import chunked_cross_entropy
from weft.losses.objective import Loss, ObjectiveContext
from weft.losses.scheduled_sampling import DecoderInputPolicy, TeacherForcing
from weft.models.model import Model
from weft.models.slots import Head


class CrossEntropyLoss(nn.Module):
    """loss = (1 - e) (-log p(y)) + e mean_v(-log p(v)), e = label_smoothing, spread over all V classes.

    torch's convention: e / V for each class, the correct one included. Padding does not count. `parts`: the plain
    negative log-likelihood, whose mean is the logarithm of the perplexity, and 100 for each correct token, whose mean
    is the accuracy in percent. decoder_input: the tokens that the decoder reads in training. chunk_size: the number of
    positions whose logits are in memory at a time (null: chosen for the device).
    """

    def __init__(
        self,
        context: ObjectiveContext,  # noqa: ARG002 (interface)
        *,
        label_smoothing: Rate = 0.1,
        decoder_input: Factory[DecoderInputPolicy] = TeacherForcing,
        chunk_size: PositiveInt | None = None,
    ):
        super().__init__()
        self.decoder_input = decoder_input()
        self.label_smoothing = label_smoothing
        self.chunk_size = chunk_size

    def forward(self, model: Model, batch: Batch, step: int | None = None) -> Loss:
        outputs = model.features(batch).hidden if step is None else self.decoder_input(model, batch, step)
        return cross_entropy(model.head, outputs, batch.target, self.label_smoothing, self.chunk_size)


def cross_entropy(
    head: Head, outputs: Tensor, target: Padded, label_smoothing: float = 0.0, chunk_size: int | None = None
) -> Loss:
    """Return the loss of decoder outputs [B,T,D] for a target [B,T], as CrossEntropyLoss defines it."""
    hidden = outputs[target.mask]  # [M,D], real positions only
    targets = target.data[target.mask]
    total, nll, correct = chunked_cross_entropy(hidden, head, targets, label_smoothing, chunk_size)
    count = torch.tensor(float(len(targets)), device=hidden.device)
    return Loss(total, count, {"nll": nll, "accuracy": 100 * correct})
