"""The identity encoder, and encoders applied one after another."""

from torch import nn

from weft.core import tracing
from weft.core.padded import Padded
from weft.core.setting_types import Factory
from weft.models.encoders.image_cnn import ImageEncoder
from weft.models.encoders.recurrent import RecurrentEncoder
from weft.models.interfaces import Encoder, require_source_embedding
from weft.nn.encoder_memory import Memory, MemorySizes
from weft.nn.layers import module_list


class IdentityEncoder(nn.Module):
    """h_i = x_i."""

    def __init__(self, input_dim: int):
        super().__init__()
        require_source_embedding(input_dim)
        self.sizes = MemorySizes(input_dim, input_dim)

    def forward(self, x: Padded) -> Memory:
        return Memory(x.data, x.data, x.mask)


class EncoderChain(nn.Module):
    """m_{i+1} = encoder_{i+1}(m_i): each encoder reads the memory of the one before it."""

    def __init__(self, input_dim: int, *, encoders: tuple[Factory[Encoder], ...] = (ImageEncoder, RecurrentEncoder)):
        super().__init__()
        if not encoders:
            raise ValueError("encoders: give at least one, such as [image, recurrent]")
        parts: list[Encoder] = []
        for make in encoders:
            parts.append(make(parts[-1].sizes.keys if parts else input_dim))
        self.encoders = module_list(parts)
        self.sizes = parts[-1].sizes

    def forward(self, x: Padded) -> Memory:
        for number, encoder in enumerate(self.encoders):
            with tracing.trace_scope(f"chain.{number}"):
                memory = encoder(x)
            x = memory.padded()
        return memory
