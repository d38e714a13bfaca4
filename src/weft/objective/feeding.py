"""What a decoder is fed in training: the truth, or what it would have said itself."""

from __future__ import annotations

from typing import Literal, Protocol

import torch
from torch import Tensor, nn

from weft.core.types import Make
from weft.data.batches import Batch
from weft.model.model import Model
from weft.objective.truth import Constant, TruthProbability


class Feeding(Protocol):
    """Gives the decoder's output [B,T,D] for every target position, of a batch in the update numbered `step`."""

    def __call__(self, model: Model, batch: Batch, step: int) -> Tensor: ...


class Truth(nn.Module):
    """Teacher forcing: at each position the true tokens before it. Williams & Zipser 1989."""

    def __init__(self) -> None:
        super().__init__()

    def forward(self, model: Model, batch: Batch, step: int) -> Tensor:  # noqa: ARG002 (as all feedings)
        return model.features(batch).hidden


class Scheduled(nn.Module):
    """Scheduled sampling: with probability e(step) the true token, else one of the model's own. Bengio et al. 2015.

    each: whether the coin is thrown for each token, or once for a sequence. own: the model's best guess, or one drawn
    from its distribution. passes: `steps` feeds token by token, so that an own token follows from the own tokens
    before it; `two` guesses all tokens in a first pass over the truth, and feeds the mixture in a second (Mihaylova &
    Martins 2019), which keeps a Transformer parallel. No gradient goes through the choice.
    """

    def __init__(
        self,
        *,
        truth: Make[TruthProbability] = Constant,
        each: Literal["token", "sequence"] = "token",
        own: Literal["best", "drawn"] = "drawn",
        passes: Literal["steps", "two"] = "steps",
    ):
        super().__init__()
        self.truth = truth()
        self.per_sequence = each == "sequence"
        self.drawn = own == "drawn"
        self.run = self._two_passes if passes == "two" else self._step_by_step

    def forward(self, model: Model, batch: Batch, step: int) -> Tensor:
        inputs = batch.decoder_input().data
        shape = (len(inputs), 1) if self.per_sequence else inputs.shape
        keep = torch.rand(shape, device=inputs.device).expand_as(inputs) < self.truth(step)
        return self.run(model, batch, inputs, keep)

    def _step_by_step(self, model: Model, batch: Batch, inputs: Tensor, keep: Tensor) -> Tensor:
        state = model.decoder.start(model.encode(batch.source))
        outputs: list[Tensor] = []
        tokens = inputs[:, 0]
        for place in range(inputs.shape[1]):
            if place:
                tokens = torch.where(keep[:, place], inputs[:, place], self._own(model, outputs[-1][:, 0]))
            first = torch.full_like(tokens, place)
            output, state = model.decoder(model.target(tokens[:, None], first), state)
            outputs.append(output.hidden)
        return torch.cat(outputs, 1)

    def _two_passes(self, model: Model, batch: Batch, inputs: Tensor, keep: Tensor) -> Tensor:
        with torch.no_grad():
            own = self._own(model, model.features(batch).hidden)  # [B,T], of the next position each
        guessed = torch.cat([inputs[:, :1], own[:, :-1]], 1)
        return model.features(batch, torch.where(keep, inputs, guessed)).hidden

    @torch.no_grad()
    def _own(self, model: Model, hidden: Tensor) -> Tensor:
        """hidden [...,D] -> the model's own next tokens [...]."""
        logits = model.head(hidden)
        if not self.drawn:
            return logits.argmax(-1)
        gumbel = -torch.empty_like(logits).exponential_().log()
        return (logits + gumbel).argmax(-1)  # a draw from softmax(logits)


class Free(Scheduled):
    """Free running: from the first token on the model is fed its own, as in search."""

    def __init__(self, *, own: Literal["best", "drawn"] = "best"):
        super().__init__(own=own)

    def forward(self, model: Model, batch: Batch, step: int) -> Tensor:  # noqa: ARG002
        inputs = batch.decoder_input().data
        return self.run(model, batch, inputs, torch.zeros_like(inputs, dtype=torch.bool))
