"""Cross-entropy with a coverage penalty on the attention. See et al. 2017; Xu et al. 2015."""

from dataclasses import KW_ONLY, dataclass
from typing import Literal, cast

import torch
from torch import Tensor

from weft.core.errors import UserError
from weft.core.padded import upcast
from weft.core.setting_types import PositiveFloat, PositiveInt, Rate
from weft.data.batches import Batch
from weft.losses.cross_entropy import cross_entropy
from weft.losses.objective import Loss, ObjectiveContext
from weft.models.model import Model


@dataclass(frozen=True)
class CoverageLoss:
    """loss = sum_t (-log p(y_t) + weight covloss_t), a_t = the attention of step t.

    penalty `overlap`: covloss_t = sum_i min(a_ti, c_ti), c_t = sum_{t' < t} a_t': attending to a position again costs.
    See et al. 2017, equations 10, 12 and 13. Suits tasks that rephrase each source word once, not those where one word
    becomes several.
    penalty `total`: sum_t covloss_t = sum_i (1 - sum_t a_ti)^2: over the whole output, each position should receive a
    total attention of 1. Xu et al. 2015; the fertility of Tu et al. 2016, fixed at 1.

    `parts` has the penalty too, as a mean over the tokens.
    """

    context: ObjectiveContext
    _: KW_ONLY
    weight: PositiveFloat = 1.0
    penalty: Literal["overlap", "total"] = "overlap"
    label_smoothing: Rate = 0.1
    chunk_size: PositiveInt | None = None

    def __post_init__(self) -> None:
        if not self.context.has_attention():
            raise UserError(
                "coverage needs attention, but this decoder does not attend to the source: take another "
                "model.decoder, such as luong or transformer, or another objective"
            )

    def __call__(self, model: Model, batch: Batch, step: int | None = None) -> Loss:  # noqa: ARG002 (interface)
        memory = model.encode(batch.source)
        output = model.decode(memory, batch.decoder_input().data)
        plain = cross_entropy(model.head, output.hidden, batch.target, self.label_smoothing, self.chunk_size)
        attention = upcast(cast(Tensor, output.attention)) * batch.target.mask[:, :, None]  # [B,T,S]
        if self.penalty == "overlap":
            coverage = torch.minimum(attention, attention.cumsum(1) - attention).sum()
        else:
            coverage = (1 - attention.sum(1))[memory.mask].square().sum()
        return Loss(plain.total + self.weight * coverage, plain.count, {**plain.parts, "coverage": coverage.detach()})
