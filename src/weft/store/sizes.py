"""Weights that fit a model. What a configuration asks for is compared with the file before memory is taken for it."""

import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import torch
from torch import Tensor, nn
from torch.nn.modules.module import register_module_parameter_registration_hook

from weft.core.errors import UserError

OFTEN = 4  # times that a weight is registered at most: as one of its own, and under each name that it is shared by
FEW = 16  # weights more, which count in small models


@contextmanager
def as_in(tensors: Mapping[str, Tensor], origin: Path) -> Iterator[None]:
    """Inside, models have sizes but no numbers; one of more tensors than these is not made to its end."""
    with without_numbers(OFTEN * len(tensors) + FEW, f"{_told(origin)}: that is larger."):
        yield


@contextmanager
def without_numbers(most: int, told: str) -> Iterator[None]:
    """The same. most: how often a tensor may become a weight. told: what to say of a model that has more, or sizes
    that are no sizes of tensors."""
    try:
        with torch.device("meta"), _counting(most, told):
            yield
    except (RuntimeError, OverflowError) as error:
        raise UserError(told) from error


@contextmanager
def _counting(most: int, told: str) -> Iterator[None]:
    here, left = threading.get_ident(), iter(range(most))

    def counted(_module: nn.Module, _name: str, _parameter: nn.Parameter | None) -> None:
        if threading.get_ident() == here and next(left, None) is None:
            raise UserError(told)

    handle = register_module_parameter_registration_hook(counted)
    try:
        yield
    finally:
        handle.remove()


def check_fit(
    wanted: Mapping[str, Tensor], tensors: Mapping[str, Tensor], origin: Path, alike: Callable[[Tensor, Tensor], bool]
) -> None:
    """Names must be exactly the model's, and tensors of one name alike."""
    wrong = sorted(
        name
        for name in {*wanted, *tensors}
        if name not in wanted or name not in tensors or not alike(wanted[name], tensors[name])
    )
    if wrong:
        listed = ", ".join(wrong[:3]) + (f" and {len(wrong) - 3} more" if len(wrong) > 3 else "")
        raise UserError(f"{_told(origin)}: {listed}.")


def same_shape(one: Tensor, other: Tensor) -> bool:
    return one.shape == other.shape


def same_kind(one: Tensor, other: Tensor) -> bool:
    """Of one shape, with numbers of one kind."""
    return one.shape == other.shape and one.dtype == other.dtype


def _told(origin: Path) -> str:
    return f"{origin} does not fit the model that its configuration describes"
