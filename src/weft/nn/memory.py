"""What an encoder leaves for a decoder, and the sizes of it."""

from __future__ import annotations

from typing import NamedTuple

from torch import Tensor

from weft.core.padded import Padded
from weft.core.tree import Tree
from weft.nn.cells.role import Cell


class Memory(NamedTuple):
    """keys [B,S,D] are asked, values [B,S,D] are answered (often the same tensor); mask [B,S] True = real.

    `final` is the last carry of a recurrent encoder at the real length, for bridges: layer, direction, carry part.
    """

    keys: Tensor
    values: Tensor
    mask: Tensor
    final: Tree = ()

    def padded(self) -> Padded:
        """The keys as a sequence again, for an encoder that follows in a chain."""
        return Padded(self.keys, self.mask)


Nested = tuple[tuple[tuple[int, ...], ...], ...]


class Sizes(NamedTuple):
    """The widths of a Memory; `final` is nested as Memory.final is, and empty if there is none.

    `cells` are the encoder's own, bottom up, for a decoder that shares their weights. `attentions` is the number that
    the memory's gradient is divided by, which should be that of the decoder's layers that read it (None: undivided).
    """

    keys: int
    values: int
    final: Nested = ()
    cells: tuple[Cell, ...] = ()
    attentions: int | None = None
