"""The wrapping of every Transformer sublayer."""

from typing import Literal

from torch import Tensor, nn

from weft.core.types import Rate
from weft.nn.dropout import Dropout

Norm = Literal["pre", "post"]


class Residual(nn.Module):
    """post: y = norm(x + dropout(f(x))) (Vaswani et al. 2017); pre: y = x + dropout(f(norm(x))) (Xiong et al. 2020).

    A sublayer may need more than x, so it is called between the two halves: `leave(x, f(enter(x)))`.
    """

    def __init__(self, dim: int, *, norm: Norm = "pre", dropout: Rate = 0.0):
        super().__init__()
        self.before = norm == "pre"
        self.norm = nn.LayerNorm(dim)
        self.dropout = Dropout(dropout)

    def enter(self, x: Tensor) -> Tensor:
        return self.norm(x) if self.before else x

    def leave(self, x: Tensor, y: Tensor) -> Tensor:
        total = x + self.dropout(y)
        return total if self.before else self.norm(total)
