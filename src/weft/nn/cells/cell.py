"""The interface of a recurrent cell, the base of the standard cells, and the two ways to run one over a sequence:
step by step, or with torch's fused kernels.
"""

from collections.abc import Callable
from typing import Any, Protocol, cast

import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import PackedSequence, pack_padded_sequence, pad_packed_sequence

from weft.core import tracing
from weft.core.padded import Padded
from weft.core.state import TensorTree, tree_where
from weft.nn.cells.gate_projections import InputProjection, OrthogonalLinear, RecurrentProjection

CellStates = tuple[Tensor, ...]  # each [N,·], with the widths `state_dims`


class RecurrentCell(Protocol):
    """One step of a recurrent network. Called as Cell(input_dim, extra_dim, ...).

    extra_dim: the width of a second input that is known only step by step, such as a context (0: none). The part of a
    step that depends on the first input alone is split off, so that it can be computed for a whole sequence at once.
    """

    dim: int  # width of the output
    top: int  # index of the state that serves as the output before the first step

    @property
    def state_dims(self) -> tuple[int, ...]: ...

    def project(self, x: Tensor) -> Tensor:
        """W x + b, for any number of steps: [...,N,I] -> [...,N,·]."""
        ...

    def start(self, states: CellStates) -> TensorTree:
        """Return the carry before the first step."""
        ...

    def states(self, carry: TensorTree) -> CellStates:
        """Return the states in a carry: the inverse of `start`."""
        ...

    def __call__(
        self, projected: Tensor, carry: TensorTree, extra: Tensor | None = None, mask: Tensor | None = None
    ) -> tuple[Tensor, TensorTree]:
        """A projected input [N,·] and the extra input [N,extra_dim] -> the output [N,D] and the next carry.

        mask [N,D] is multiplied into the last output where it enters a matrix product (variational dropout).
        """
        ...

    def run(self, x: Padded, carry: TensorTree) -> tuple[Padded, TensorTree]:
        """Run over a sequence without an extra input -> outputs [N,T,D], the carry at each row's last real position."""
        ...


class StandardCell(nn.Module):
    """The base of cells that carry their states as they are and for which torch has a kernel.

    kernel: torch.lstm, torch.gru or torch.rnn_tanh. is_fused: whether the settings are those of the kernel.
    """

    inputs: InputProjection
    recurrence: RecurrentProjection
    is_fused: bool
    kernel: Callable[..., Any]

    def project(self, x: Tensor) -> Tensor:
        return self.inputs.project(x)

    def start(self, states: CellStates) -> TensorTree:
        return states

    def states(self, carry: TensorTree) -> CellStates:
        return cast(CellStates, carry)

    def recurrent_projections(self) -> list[RecurrentProjection]:
        return [self.recurrence]

    def run(self, x: Padded, carry: TensorTree) -> tuple[Padded, TensorTree]:
        if not self.is_fused or tracing.is_tracing():
            return run_stepwise(cast(RecurrentCell, self), x, carry)
        input_weight, input_bias = _weight_and_bias(self.inputs.input)
        weights, biases = zip(*(_weight_and_bias(part.matrix) for part in self.recurrent_projections()), strict=True)
        weight, bias = (weights[0], biases[0]) if len(weights) == 1 else (torch.cat(weights), torch.cat(biases))
        packed = pack_padded_sequence(x.data, x.lengths().cpu(), batch_first=True, enforce_sorted=False)
        order, back = cast(Tensor, packed.sorted_indices), cast(Tensor, packed.unsorted_indices)
        first = [state.index_select(0, order)[None] for state in self.states(carry)]
        outputs, *last = self.kernel(
            packed.data,
            packed.batch_sizes,
            first if len(first) > 1 else first[0],
            [input_weight, weight, input_bias, bias],
            True,  # biases
            1,  # layers
            0.0,  # dropout
            torch.is_grad_enabled(),  # training: otherwise cuDNN does not keep what backward needs
            False,  # bidirectional
        )
        sequence = PackedSequence(outputs, packed.batch_sizes, order, back)
        padded, _ = pad_packed_sequence(sequence, batch_first=True, total_length=x.data.shape[1])
        return x.with_data(padded), tuple(state[0].index_select(0, back) for state in last)


def zero_states(cell: RecurrentCell, like: Tensor) -> CellStates:
    """Return the states before the first input, a row for each row of `like`."""
    return tuple(like.new_zeros(len(like), dim) for dim in cell.state_dims)


def run_stepwise(cell: RecurrentCell, x: Padded, carry: TensorTree) -> tuple[Padded, TensorTree]:
    """Implement `RecurrentCell.run` for any cell."""
    outputs = []
    for projected, real in zip(cell.project(x.data.transpose(0, 1)).unbind(0), x.mask.unbind(1), strict=True):
        output, after = cell(projected, carry)
        outputs.append(output)
        carry = tree_where(real, after, carry)
    return x.with_data(torch.stack(outputs, 1)), carry


def _weight_and_bias(module: nn.Linear | OrthogonalLinear) -> tuple[Tensor, Tensor]:
    weight = module.weight
    return weight, weight.new_zeros(len(weight)) if module.bias is None else module.bias
