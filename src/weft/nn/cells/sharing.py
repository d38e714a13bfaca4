"""One set of weights for two cells."""

from collections.abc import Iterable, Iterator
from itertools import chain
from typing import cast

from torch import Tensor, nn

from weft.nn.cells.role import Cell

Place = tuple[nn.Module, str, Tensor]  # the module, the weight's name in it, the weight


def share(cell: Cell, owners: Iterable[Cell]) -> None:
    """Give `cell` the weights of `owners`, which make it up together; they must have the same shapes."""
    mine, theirs = [*places(cell)], [place for owner in owners for place in places(owner)]
    if shapes(mine) != shapes(theirs):
        raise ValueError(
            "shared: the encoder's cells are not the decoder's. They need the same types and sizes, the same number of "
            "layers, embeddings of one width, and an encoder that reads one way"
        )
    for (module, name, _), (_, _, weight) in zip(mine, theirs, strict=True):
        setattr(module, name, weight)


def places(cell: Cell) -> Iterator[Place]:
    """Where each weight of a cell stands, learned or fixed."""
    for module in cast(nn.Module, cell).modules():
        for name, weight in chain(module.named_parameters(recurse=False), module.named_buffers(recurse=False)):
            yield module, name, weight


def shapes(found: list[Place]) -> list[tuple[str, tuple[int, ...]]]:
    return [(name, tuple(weight.shape)) for _, name, weight in found]
