"""The output layer."""

import torch
from torch import Tensor, nn
from torch.nn import functional as F


class Linear(nn.Module):
    """logits = W h + b."""

    def __init__(self, dim: int, classes: int, *, bias: bool = True):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(classes, dim) * dim**-0.5)
        self.bias = nn.Parameter(torch.zeros(classes)) if bias else None

    def forward(self, hidden: Tensor, classes: Tensor | None = None) -> Tensor:
        if classes is None:
            return F.linear(hidden, self.weight, self.bias)
        return F.linear(hidden, self.weight[classes], None if self.bias is None else self.bias[classes])
