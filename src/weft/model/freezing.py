"""Parts of a model that stay as they are while the others learn."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, get_args

from torch import nn

from weft.model.model import Model

Slot = Literal["source", "encoder", "target", "decoder", "head", "lattice"]
SLOTS: tuple[Slot, ...] = get_args(Slot)


def freeze(model: Model, slots: Sequence[Slot]) -> None:
    """No weight of these slots gets a gradient; one that is shared with another slot is frozen there too."""
    for slot in slots:
        for parameter in weights_in(model, slot):
            parameter.requires_grad_(False)


def weights_in(model: Model, slot: Slot) -> list[nn.Parameter]:
    """All of a slot; none where the model has no such part."""
    return [one for name, one in model.named_parameters(remove_duplicate=False) if name.partition(".")[0] == slot]


def learning(model: Model) -> dict[str, nn.Parameter]:
    """The weights that learn, by name, in the order in which an optimiser numbers them."""
    return {name: parameter for name, parameter in model.named_parameters() if parameter.requires_grad}
