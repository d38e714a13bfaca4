"""Maxout. Goodfellow et al. 2013."""

from torch import Tensor, nn


class Maxout(nn.Module):
    """y_k = max(z_{2k}, z_{2k+1}), z = W x + b."""

    def __init__(self, input_dim: int, dim: int):
        super().__init__()
        self.linear = nn.Linear(input_dim, 2 * dim)

    def forward(self, x: Tensor) -> Tensor:
        return self.linear(x).view(*x.shape[:-1], -1, 2).amax(-1)
