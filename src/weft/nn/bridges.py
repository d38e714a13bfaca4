"""Bridges: from what an encoder ends with to the states that a recurrent decoder begins with."""

from typing import Literal, Protocol, cast

import torch
from torch import Tensor, nn

from weft.nn.cells.role import States
from weft.nn.memory import Memory, Sizes

Ends = tuple[tuple[States, ...], ...]  # Memory.final: layer, direction, state


class Bridge(Protocol):
    """Made as Bridge(sizes, state_dims, ...): the memory's widths, and those of the states that are wanted."""

    def __call__(self, memory: Memory) -> States: ...


class Zeros(nn.Module):
    """s_0 = 0: the decoder knows the source through attention alone."""

    def __init__(self, memory: Sizes, state_dims: tuple[int, ...]):  # noqa: ARG002 (as all bridges)
        super().__init__()
        self.state_dims = state_dims

    def forward(self, memory: Memory) -> States:
        return tuple(memory.keys.new_zeros(len(memory.keys), dim) for dim in self.state_dims)


class Copy(nn.Module):
    """s_0 = h_T, layer by layer; what two directions of a layer end with stands side by side. Sutskever et al. 2014."""

    def __init__(self, memory: Sizes, state_dims: tuple[int, ...]):
        super().__init__()
        widths = joined_widths(memory)
        if widths != state_dims:
            told = " and ".join(", ".join(map(str, dims)) or "none" for dims in (widths, state_dims))
            raise ValueError(f"bridge: copy needs the encoder's last states as wide as the decoder's, got {told}")

    def forward(self, memory: Memory) -> States:
        return tuple(torch.cat(parts, -1) for parts in joined(cast(Ends, memory.final)))


class Linear(nn.Module):
    """s_0 = W e + b for each state, with e = all that the encoder ends with; sizes may differ.

    of: `ends`, the last states of all layers and directions; `last`, the top layer's output in its last direction (h_1
    of the backward cell in Bahdanau et al. 2015); `mean`, the mean annotation, which every encoder has.
    squash: tanh(W e + b), as in Bahdanau's paper.
    """

    def __init__(
        self,
        memory: Sizes,
        state_dims: tuple[int, ...],
        *,
        of: Literal["ends", "last", "mean"] = "last",
        squash: bool = True,
    ):
        super().__init__()
        self.of, self.squash = of, squash
        if not memory.keys:
            raise ValueError("bridge: linear starts from the source, but there is none: write bridge: zeros")
        if of != "mean" and not memory.final:
            raise ValueError(f"bridge: of: {of} needs an encoder with a last state, such as recurrent; use of: mean")
        self.top = memory.cells[-1].top if memory.cells else 0
        self.maps = nn.ModuleList(nn.Linear(self._width(memory), dim) for dim in state_dims)

    def forward(self, memory: Memory) -> States:
        summary = self._summary(memory)
        states = (one(summary) for one in self.maps)
        return tuple(torch.tanh(state) for state in states) if self.squash else tuple(states)

    def _width(self, memory: Sizes) -> int:
        match self.of:
            case "last":
                return memory.final[-1][-1][self.top]
            case "ends":
                return sum(joined_widths(memory))
            case "mean":
                return memory.keys

    def _summary(self, memory: Memory) -> Tensor:
        ends = cast(Ends, memory.final)
        match self.of:
            case "last":
                return ends[-1][-1][self.top]
            case "ends":
                return torch.cat([part for parts in joined(ends) for part in parts], -1)
            case "mean":
                return mean_real(memory)


class Learned(nn.Module):
    """s_0 is learned, the same for every source."""

    def __init__(self, memory: Sizes, state_dims: tuple[int, ...]):  # noqa: ARG002 (as all bridges)
        super().__init__()
        self.first = nn.ParameterList(torch.zeros(dim) for dim in state_dims)

    def forward(self, memory: Memory) -> States:
        return tuple(state.expand(len(memory.mask), -1) for state in self.first)


def joined(ends: Ends) -> list[list[Tensor]]:
    """For each state of each layer what its directions end with."""
    return [[way[number] for way in layer] for layer in ends for number in range(len(layer[0]))]


def joined_widths(memory: Sizes) -> tuple[int, ...]:
    return tuple(sum(way[number] for way in layer) for layer in memory.final for number in range(len(layer[0])))


def mean_real(memory: Memory) -> Tensor:
    """[B,D], the mean of the real annotations."""
    weights = memory.mask.to(memory.keys.dtype)[:, :, None]
    return (memory.keys * weights).sum(1) / weights.sum(1)
