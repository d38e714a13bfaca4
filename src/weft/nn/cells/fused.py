"""torch's own kernels for the cells that are exactly theirs: the loop over time runs in C++."""

from collections.abc import Callable
from typing import Any, cast

import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import PackedSequence, pack_padded_sequence, pad_packed_sequence

from weft.core.padded import Padded
from weft.core.tree import Tree
from weft.nn.cells.products import Orthogonal
from weft.nn.cells.role import States

Linear = tuple[Tensor, Tensor]  # a matrix and a bias


def linear(module: nn.Linear | Orthogonal) -> Linear:
    """The matrix and the bias: torch's kernels want one for each product."""
    weight = module.weight
    return weight, weight.new_zeros(len(weight)) if module.bias is None else module.bias


def run_fused(
    kernel: Callable[..., Any], x: Padded, carry: Tree, inputs: Linear, recurrence: Linear
) -> tuple[Padded, States]:
    """The outputs, and the states at each row's real length, of torch.lstm, torch.gru or torch.rnn_tanh."""
    first = cast(States, carry)
    packed = pack_padded_sequence(x.data, x.lengths().cpu(), batch_first=True, enforce_sorted=False)
    order, back = cast(Tensor, packed.sorted_indices), cast(Tensor, packed.unsorted_indices)
    sorted_first = [part.index_select(0, order)[None] for part in first]
    weights = [inputs[0], recurrence[0], inputs[1], recurrence[1]]
    outputs, *last = kernel(
        packed.data,
        packed.batch_sizes,
        sorted_first if len(first) > 1 else sorted_first[0],
        weights,
        True,
        1,
        0.0,
        torch.is_grad_enabled(),  # cuDNN keeps what backward needs only if it is told so
        False,
    )
    sequence = PackedSequence(outputs, packed.batch_sizes, order, back)
    padded, _ = pad_packed_sequence(sequence, batch_first=True, total_length=x.data.shape[1])
    return x.with_data(padded), tuple(part[0].index_select(0, back) for part in last)
