"""Linear maps that learn the length of a row apart from its direction. Salimans & Kingma 2016."""

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from weft.nn.initial import normal


class NormedLinear(nn.Module):
    """y = W x + b, each row of W being g v / |v| (equation 2).

    It starts with W ~ N(0, gain / I) for an input of width I, and b = 0.
    """

    def __init__(self, input_dim: int, dim: int, *, gain: float = 1.0):
        super().__init__()
        self.direction = nn.Parameter(normal(dim, input_dim, deviation=(gain / input_dim) ** 0.5))  # v
        self.length = nn.Parameter(self.direction.detach().norm(dim=1))  # g
        self.bias = nn.Parameter(torch.zeros(dim))

    @property
    def weight(self) -> Tensor:
        return self.direction * (self.length / self.direction.norm(dim=1))[:, None]

    def forward(self, x: Tensor) -> Tensor:
        return F.linear(x, self.weight, self.bias)
