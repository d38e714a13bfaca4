"""The encoder that does nothing: what follows reads the embeddings themselves."""

from torch import nn

from weft.core.padded import Padded
from weft.model.source import require_vectors
from weft.nn.memory import Memory, Sizes


class Embedded(nn.Module):
    """h_i = x_i: no position knows of its neighbours."""

    def __init__(self, input_dim: int):
        super().__init__()
        require_vectors(input_dim)
        self.sizes = Sizes(input_dim, input_dim)

    def forward(self, x: Padded) -> Memory:
        return Memory(x.data, x.data, x.mask)
