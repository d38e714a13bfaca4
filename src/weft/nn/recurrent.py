"""A cell run over a sequence."""

import torch
from torch import Tensor

from weft.core.padded import Padded
from weft.nn.cells import Carry, Cell


def unroll(cell: Cell, x: Padded) -> tuple[Padded, Carry]:
    """Every output [B,T,D], and the carry at each row's real length."""
    carry = cell.start(x.data)
    carries: list[Carry] = []
    for projected in cell.project(x.data.transpose(0, 1)).unbind(0):
        carry = cell(projected, carry)
        carries.append(carry)
    parts = [torch.stack(part, 1) for part in zip(*carries, strict=True)]  # each [B,T,D]
    return x.with_data(parts[0]), tuple(last_real(part, x) for part in parts)


def last_real(sequence: Tensor, x: Padded) -> Tensor:
    """[B,T,D] -> [B,D], each row at its last real position."""
    return sequence[torch.arange(len(sequence), device=sequence.device), x.lengths() - 1]
