"""Encoders one after another."""

from torch import nn

from weft.core import watch
from weft.core.padded import Padded
from weft.core.types import Make
from weft.model.encoders.picture import PictureEncoder
from weft.model.encoders.recurrent import Recurrent
from weft.model.roles import Encoder
from weft.nn.memory import Memory
from weft.nn.stack import stack


class Chain(nn.Module):
    """m_{i+1} = encoder_{i+1}(m_i): each reads what the one before it has left; the last one's memory is kept."""

    def __init__(self, input_dim: int, *, encoders: tuple[Make[Encoder], ...] = (PictureEncoder, Recurrent)):
        super().__init__()
        if not encoders:
            raise ValueError("encoders: give at least one, such as [picture, recurrent]")
        made: list[Encoder] = []
        for make in encoders:
            made.append(make(made[-1].sizes.keys if made else input_dim))
        self.encoders = stack(made)
        self.sizes = made[-1].sizes

    def forward(self, x: Padded) -> Memory:
        first, *others = self.encoders
        with watch.place("chain.0"):
            memory = first(x)
        for number, encoder in enumerate(others, 1):
            with watch.place(f"chain.{number}"):
                memory = encoder(memory.padded())
        return memory
