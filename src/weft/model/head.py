"""The output layer."""

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from weft.core.wide import wide
from weft.model.decoders.nothing import no_steps
from weft.nn.initial import normal


class Linear(nn.Module):
    """logits = W h + b.

    sparse: if only some classes are asked for, the gradient of W holds their rows alone; see optim/lazy_adam.py.
    """

    def __init__(self, dim: int, classes: int, *, bias: bool = True, sparse: bool = False):
        super().__init__()
        self.sparse = sparse
        self.weight = nn.Parameter(normal(classes, dim, deviation=dim**-0.5))
        self.bias = nn.Parameter(torch.zeros(classes)) if bias else None

    def forward(self, hidden: Tensor, classes: Tensor | None = None) -> Tensor:
        if classes is None:
            return wide(F.linear(hidden, self.weight, self.bias))
        return wide(F.linear(hidden, self.rows(classes), None if self.bias is None else self.bias[classes]))

    def rows(self, classes: Tensor) -> Tensor:
        return F.embedding(classes, self.weight, sparse=self.sparse)


class NoHead(nn.Module):
    """That of a model without a decoder, to which nothing comes: it has no weights, and who asks for them is told."""

    bias: nn.Parameter | None = None

    @property
    def weight(self) -> nn.Parameter:
        raise no_steps()

    def forward(self, hidden: Tensor, classes: Tensor | None = None) -> Tensor:  # noqa: ARG002 (as all heads)
        raise no_steps()

    def rows(self, classes: Tensor) -> Tensor:  # noqa: ARG002 (as all heads)
        raise no_steps()
