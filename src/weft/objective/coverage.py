"""Cross-entropy, and a price for looking at the same place again."""

from typing import Literal, cast

import torch
from torch import Tensor

from weft.core.errors import UserError
from weft.core.padded import Padded
from weft.core.types import Count, Positive, Rate
from weft.core.wide import wide
from weft.data.batches import Batch
from weft.model.model import Model
from weft.objective.cross_entropy import cross_entropy
from weft.objective.role import Given, Loss


class Coverage:
    """loss = sum_t (-log p(y_t) + weight covloss_t).

    price `again`: covloss_t = sum_i min(a_ti, c_ti), c_t = sum_{t' < t} a_t', where a_t is where step t looked: what
    was looked at before costs. See et al. 2017, equations 10, 12 and 13. A source that must be copied in other words
    asks to be looked at once; one where one word becomes several does not.
    price `total`: sum_t covloss_t = sum_i (1 - sum_t a_ti)^2: over the whole output each position should have been
    looked at once, none left out. Xu et al. 2015; the fertility of Tu et al. 2016, fixed at 1.

    `parts` has the price too, as a mean over the tokens.
    """

    def __init__(
        self,
        given: Given,
        *,
        weight: Positive = 1.0,
        price: Literal["again", "total"] = "again",
        smoothing: Rate = 0.1,
        chunk: Count | None = None,
    ):
        if not given.looks():
            raise UserError(
                "coverage is about where the decoder looks, but this one does not look at the source: take another "
                "model.decoder, such as luong or transformer, or another objective"
            )
        self.weight = weight
        self.price = looked_again if price == "again" else total_off_one
        self.smoothing = smoothing
        self.chunk = chunk

    def __call__(self, model: Model, batch: Batch, step: int | None = None) -> Loss:  # noqa: ARG002 (as all objectives)
        memory = model.encode(batch.source)
        output = model.decode(memory, batch.decoder_input().data)
        plain = cross_entropy(model.head, output.hidden, batch.target, self.smoothing, self.chunk)
        attention = wide(cast(Tensor, output.attention))  # that there is one was asked at the start
        looks = attention * batch.target.mask[:, :, None]  # the padding of the target looks nowhere
        coverage = self.price(looks, memory.padded())
        return Loss(plain.total + self.weight * coverage, plain.count, {**plain.parts, "coverage": coverage.detach()})


def looked_again(looks: Tensor, memory: Padded) -> Tensor:  # noqa: ARG001 (as its neighbour)
    """looks [B,T,S] -> sum_t sum_i min(a_ti, c_ti)."""
    before = looks.cumsum(1) - looks
    return torch.minimum(looks, before).sum()


def total_off_one(looks: Tensor, memory: Padded) -> Tensor:
    """looks [B,T,S] -> sum_i (1 - sum_t a_ti)^2 over the real positions of the memory."""
    return (1 - looks.sum(1))[memory.mask].square().sum()
