"""Training in numbers of 16 bits over weights of 32."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from copy import deepcopy

import torch
from torch import Tensor

from weft.data.batches import Batch
from weft.model.model import Model
from weft.objective.role import Loss, Objective
from weft.store.model_folder import weights_of
from weft.training.ranks import Ranks
from weft.training.spread import Spread, Whole

SCALES = (1.0, 2.0**-4, 2.0**-8, 2.0**-12)


class Masters:
    """`model` holds the masters: its weights are moved, averaged, validated and kept. A rounded copy of it computes.

    Micikevicius et al. 2018, section 3.1. Before an update the masters are rounded into the copy, after each batch the
    copy's gradients are added to theirs; so the copy is a function of the masters, and a run that goes on needs nothing
    of it.

    float16 reaches from 6e-8 to 65,504. Its gradients are scaled (section 3.2) by being those of a sum over some
    thousand tokens, not of their mean; the update tries smaller scales where one of them is too large.
    """

    def __init__(
        self,
        ranks: Ranks,
        model: Model,
        objective: Objective,
        kind: torch.dtype,
        around: Callable[[Ranks, Model, Objective], Spread],
    ):
        self.ranks, self.model = ranks, model
        self.one = Whole(ranks, model, objective)
        self.rounded = deepcopy(model).to(kind)
        self.copy = around(ranks, self.rounded, objective)
        self.scales: tuple[float, ...] = SCALES if kind == torch.float16 else self.copy.scales
        self.begins = True
        self.names = frozenset(weights_of(model))

    def backward(self, batch: Batch, step: int, *, last: bool, scale: float) -> Loss:
        if self.begins:
            with torch.no_grad():
                torch._foreach_copy_(self._kept(self.rounded), self._kept(self.model))
        self.begins = last
        if last and self.ranks.size > 1:
            self._hand_back()
        loss = self.copy.backward(batch, step, last=last, scale=scale)
        self._hand_over()
        return loss

    def _kept(self, model: Model) -> list[Tensor]:
        """All that a model is told by, drawn matrices that it does not learn included."""
        return [*model.parameters(), *(buffer for name, buffer in model.named_buffers() if name in self.names)]

    def _hand_over(self) -> None:
        """Add the copy's gradients to the masters'."""
        for master, rounded in zip(self.model.parameters(), self.rounded.parameters(), strict=True):
            if rounded.grad is not None:
                gradient = rounded.grad.to(master.dtype)
                master.grad = gradient if master.grad is None else master.grad + gradient
                rounded.grad = None

    def _hand_back(self) -> None:
        """Give the copy what was gathered so far: the means over the ranks are made of its gradients."""
        for master, rounded in zip(self.model.parameters(), self.rounded.parameters(), strict=True):
            if master.grad is not None:
                rounded.grad = master.grad.to(rounded.dtype)
                master.grad = None

    def norm(self, gradients: Sequence[Tensor]) -> float:
        return self.one.norm(gradients)

    def whole(self, tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
        return self.copy.whole(tensors)

    def share(self, tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
        return self.copy.share(tensors)

    def showing(self, weights: Mapping[str, Tensor]) -> AbstractContextManager[Model]:
        return self.one.showing(weights)
