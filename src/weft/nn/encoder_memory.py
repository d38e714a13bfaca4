"""The memory that an encoder passes to a decoder, and its sizes."""

from typing import NamedTuple

from torch import Tensor

from weft.core.padded import Padded
from weft.core.state import TensorTree
from weft.nn.cells.cell import RecurrentCell


class Memory(NamedTuple):
    """keys and values [B,S,D], often the same tensor; mask [B,S], True = real.

    `final` holds the states of a recurrent encoder at each row's last real position, for bridges: a tuple of layers,
    directions and states.
    """

    keys: Tensor
    values: Tensor
    mask: Tensor
    final: TensorTree = ()

    def padded(self) -> Padded:
        return Padded(self.keys, self.mask)


class MemorySizes(NamedTuple):
    """The widths of a Memory; `final` is nested as Memory.final.

    cells: the encoder's own, bottom up, for a decoder that shares their weights. attention_layers: the number that the
    memory's gradient is divided by, which must be that of the decoder layers that attend to it (None: undivided).
    """

    keys: int
    values: int
    final: tuple[tuple[tuple[int, ...], ...], ...] = ()
    cells: tuple[RecurrentCell, ...] = ()
    attention_layers: int | None = None
