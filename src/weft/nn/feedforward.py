"""The Transformer's position-wise layer."""

from typing import Literal

from torch import Tensor, nn
from torch.nn import functional as F

from weft.core.types import Count, Rate
from weft.nn.dropout import Dropout

Activation = Literal["relu", "gelu", "swiglu"]


class FeedForward(nn.Module):
    """y = W2 f(W1 x + b1) + b2 (Vaswani et al. 2017, equation 2), f = ReLU or GELU (Hendrycks & Gimpel 2016);
    swiglu: y = W2 (swish(W1 x) * V x) (Shazeer 2020, equation 6), here with biases as well."""

    def __init__(self, dim: int, *, hidden: Count = 1024, activation: Activation = "relu", dropout: Rate = 0.0):
        super().__init__()
        self.activation = activation
        self.up = nn.Linear(dim, 2 * hidden if activation == "swiglu" else hidden)
        self.down = nn.Linear(hidden, dim)
        self.dropout = Dropout(dropout)

    def forward(self, x: Tensor) -> Tensor:
        return self.down(self._activated(self.up(x)))

    def _activated(self, x: Tensor) -> Tensor:
        """f, with dropout; before a ReLU it is the same as after, and then only what `down` keeps anyway is kept."""
        match self.activation:
            case "relu":
                return F.relu(self.dropout(x))
            case "gelu":
                return self.dropout(F.gelu(x))
            case "swiglu":
                gate, value = x.chunk(2, -1)
                return self.dropout(F.silu(gate) * value)
