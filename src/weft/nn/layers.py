"""Small layers that several architectures share, typed module lists, and weight initialization."""

from collections.abc import Iterable, Sequence
from typing import Literal, TypeVar, cast

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from weft.core.setting_types import PositiveInt, Rate
from weft.nn.dropout import Dropout

FeedForwardActivation = Literal["relu", "gelu", "swiglu"]
NormPlacement = Literal["pre", "post"]
ModuleT = TypeVar("ModuleT")


def module_list(parts: Iterable[ModuleT]) -> Sequence[ModuleT]:
    """Return a torch ModuleList, typed as the sequence of its parts."""
    return cast(Sequence[ModuleT], nn.ModuleList(cast(Iterable[nn.Module], parts)))


def normal_init(*shape: int, std: float = 1.0) -> Tensor:
    """Draw from N(0, std^2); on the meta device nothing is drawn, since torch would load its compiler for that."""
    tensor = torch.empty(shape)
    return tensor if tensor.is_meta else tensor.normal_().mul_(std)


def xavier_init(module: nn.Module) -> None:
    """Initialize every linear layer inside: Xavier weights (Glorot & Bengio 2010), zero biases."""
    for part in module.modules():
        if isinstance(part, nn.Linear):
            nn.init.xavier_uniform_(part.weight)
            if part.bias is not None:
                nn.init.zeros_(part.bias)


def orthogonal_init_blocks(weight: Tensor, rows: int) -> None:
    """Fill each block of `rows` rows with a random orthogonal matrix. Saxe, McClelland & Ganguli 2014."""
    for block in weight.data.view(-1, rows, weight.shape[1]):
        nn.init.orthogonal_(block)


class Maxout(nn.Module):
    """y_k = max(z_{2k}, z_{2k+1}), z = W x + b. Goodfellow et al. 2013."""

    def __init__(self, input_dim: int, dim: int):
        super().__init__()
        self.linear = nn.Linear(input_dim, 2 * dim)

    def forward(self, x: Tensor) -> Tensor:
        return self.linear(x).view(*x.shape[:-1], -1, 2).amax(-1)


class FeedForward(nn.Module):
    """y = W2 f(W1 x + b1) + b2 (Vaswani et al. 2017, equation 2), f = ReLU or GELU (Hendrycks & Gimpel 2016);
    swiglu: y = W2 (swish(W1 x) * V x) (Shazeer 2020, equation 6), here with biases as well."""

    def __init__(
        self, dim: int, *, ffn_dim: PositiveInt = 1024, activation: FeedForwardActivation = "relu", dropout: Rate = 0.0
    ):
        super().__init__()
        self.activation = activation
        self.up = nn.Linear(dim, 2 * ffn_dim if activation == "swiglu" else ffn_dim)
        self.down = nn.Linear(ffn_dim, dim)
        self.dropout = Dropout(dropout)

    def forward(self, x: Tensor) -> Tensor:
        return self.down(self._activate(self.up(x)))

    def _activate(self, x: Tensor) -> Tensor:
        match self.activation:
            case "relu":
                return F.relu(self.dropout(x))  # equal to dropout after the ReLU, and keeps one tensor less
            case "gelu":
                return self.dropout(F.gelu(x))
            case "swiglu":
                gate, value = x.chunk(2, -1)
                return self.dropout(F.silu(gate) * value)


class ResidualConnection(nn.Module):
    """post: y = norm(x + dropout(f(x))) (Vaswani et al. 2017); pre: y = x + dropout(f(norm(x))) (Xiong et al. 2020).

    The caller computes f between the two halves: `add(x, f(prepare(x)))`.
    """

    def __init__(self, dim: int, *, norm: NormPlacement = "pre", dropout: Rate = 0.0):
        super().__init__()
        self.is_pre_norm = norm == "pre"
        self.norm = nn.LayerNorm(dim)
        self.dropout = Dropout(dropout)

    def prepare(self, x: Tensor) -> Tensor:
        return self.norm(x) if self.is_pre_norm else x

    def add(self, x: Tensor, y: Tensor) -> Tensor:
        total = x + self.dropout(y)
        return total if self.is_pre_norm else self.norm(total)
