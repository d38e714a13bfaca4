"""The output layer."""

import torch
from torch import Tensor, nn
from torch.nn import functional as F


class Linear(nn.Module):
    """logits = W h + b.

    sparse: if only some classes are asked for, the gradient of W holds their rows alone; see optim/lazy_adam.py.
    """

    def __init__(self, dim: int, classes: int, *, bias: bool = True, sparse: bool = False):
        super().__init__()
        self.sparse = sparse
        self.weight = nn.Parameter(torch.randn(classes, dim) * dim**-0.5)
        self.bias = nn.Parameter(torch.zeros(classes)) if bias else None

    def forward(self, hidden: Tensor, classes: Tensor | None = None) -> Tensor:
        if classes is None:
            return F.linear(hidden, self.weight, self.bias)
        rows = F.embedding(classes, self.weight, sparse=self.sparse)
        return F.linear(hidden, rows, None if self.bias is None else self.bias[classes])


class NoHead(nn.Module):
    """That of a model without a decoder, to which nothing comes: it has nothing to learn."""

    weight = nn.Parameter(torch.zeros(0, 0), requires_grad=False)  # the class's own, so that no model has it to keep
    bias: nn.Parameter | None = None
