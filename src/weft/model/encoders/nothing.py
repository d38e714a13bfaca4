"""The encoder of a model without a source."""

from torch import nn

from weft.core.padded import Padded
from weft.nn.memory import Memory, Sizes


class Nothing(nn.Module):
    """A memory without positions: the decoder is a language model, p(y) = prod_i p(y_i | y_1 ... y_{i-1})."""

    def __init__(self, input_dim: int):
        super().__init__()
        if input_dim:
            raise ValueError("reads no source, so there must be no embedding of one: write model.source: none too")
        self.sizes = Sizes(0, 0)

    def forward(self, x: Padded) -> Memory:
        nothing = x.data[:, :0]  # [B,0,0]
        return Memory(nothing, nothing, x.mask[:, :0])
