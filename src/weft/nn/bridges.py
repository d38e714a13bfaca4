"""Bridges: from the encoder's final states to the initial states of a recurrent decoder."""

from typing import Literal, Protocol, cast

import torch
from torch import Tensor, nn

from weft.nn.cells.cell import CellStates
from weft.nn.encoder_memory import Memory, MemorySizes

FinalStates = tuple[tuple[CellStates, ...], ...]  # Memory.final: layer, direction, state


class Bridge(Protocol):
    """Called as Bridge(memory sizes, state_dims, ...), with the widths of the states to return."""

    def __call__(self, memory: Memory) -> CellStates: ...


class ZeroBridge(nn.Module):
    """s_0 = 0: the decoder sees the source through attention alone."""

    def __init__(self, memory: MemorySizes, state_dims: tuple[int, ...]):  # noqa: ARG002 (interface)
        super().__init__()
        self.state_dims = state_dims

    def forward(self, memory: Memory) -> CellStates:
        return tuple(memory.keys.new_zeros(len(memory.keys), dim) for dim in self.state_dims)


class CopyBridge(nn.Module):
    """s_0 = h_T, layer by layer; the two directions of a layer are concatenated. Sutskever et al. 2014."""

    def __init__(self, memory: MemorySizes, state_dims: tuple[int, ...]):
        super().__init__()
        final_dims = final_state_dims(memory)
        if final_dims != state_dims:
            widths = " and ".join(", ".join(map(str, dims)) or "none" for dims in (final_dims, state_dims))
            raise ValueError(f"bridge: copy needs the encoder's last states as wide as the decoder's, got {widths}")

    def forward(self, memory: Memory) -> CellStates:
        return tuple(concat_directions(memory))


class LinearBridge(nn.Module):
    """s_0 = tanh(W e + b) for each state, e = a summary of the source; widths may differ.

    summary: `final-states`, of all layers and directions; `last`, the top layer's output in its last direction (h_1 of
    the backward cell in Bahdanau et al. 2015); `mean`, the mean of the memory, which every encoder has.
    """

    def __init__(
        self,
        memory: MemorySizes,
        state_dims: tuple[int, ...],
        *,
        summary: Literal["final-states", "last", "mean"] = "last",
        tanh: bool = True,
    ):
        super().__init__()
        self.summary, self.tanh = summary, tanh
        if not memory.keys:
            raise ValueError("bridge: linear starts from the source, but there is none: write bridge: zeros")
        if summary != "mean" and not memory.final:
            raise ValueError(
                f"bridge: summary: {summary} needs an encoder with a last state, such as recurrent; use summary: mean"
            )
        self.top = memory.cells[-1].top if memory.cells else 0
        self.maps = nn.ModuleList(nn.Linear(self._width(memory), dim) for dim in state_dims)

    def forward(self, memory: Memory) -> CellStates:
        summary = self._summarize(memory)
        states = (linear(summary) for linear in self.maps)
        return tuple(torch.tanh(state) for state in states) if self.tanh else tuple(states)

    def _width(self, memory: MemorySizes) -> int:
        match self.summary:
            case "last":
                return memory.final[-1][-1][self.top]
            case "final-states":
                return sum(final_state_dims(memory))
            case "mean":
                return memory.keys

    def _summarize(self, memory: Memory) -> Tensor:
        match self.summary:
            case "last":
                return cast(FinalStates, memory.final)[-1][-1][self.top]
            case "final-states":
                return torch.cat(concat_directions(memory), -1)
            case "mean":
                return masked_mean(memory)


class LearnedBridge(nn.Module):
    """s_0 is learned, the same for every source."""

    def __init__(self, memory: MemorySizes, state_dims: tuple[int, ...]):  # noqa: ARG002 (interface)
        super().__init__()
        self.first = nn.ParameterList(torch.zeros(dim) for dim in state_dims)

    def forward(self, memory: Memory) -> CellStates:
        return tuple(state.expand(len(memory.mask), -1) for state in self.first)


def concat_directions(memory: Memory) -> list[Tensor]:
    """Return the final states of all layers, with the directions of a layer concatenated."""
    layers = cast(FinalStates, memory.final)
    return [torch.cat(parts, -1) for layer in layers for parts in zip(*layer, strict=True)]


def final_state_dims(memory: MemorySizes) -> tuple[int, ...]:
    return tuple(sum(dims) for layer in memory.final for dims in zip(*layer, strict=True))


def masked_mean(memory: Memory) -> Tensor:
    """Return the mean of the keys at real positions [B,D]."""
    weights = memory.mask.to(memory.keys.dtype)[:, :, None]
    return (memory.keys * weights).sum(1) / weights.sum(1)
