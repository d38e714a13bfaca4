"""Lists of modules that know what they hold."""

from collections.abc import Iterable, Sequence
from typing import TypeVar, cast

from torch import nn

Part = TypeVar("Part")


def stack(parts: Iterable[Part]) -> Sequence[Part]:
    """A torch ModuleList, typed as the sequence of its parts."""
    return cast(Sequence[Part], nn.ModuleList(cast(Iterable[nn.Module], parts)))
