"""What a decoder is fed in training: the truth, or what it would have said itself."""

from __future__ import annotations

from typing import Literal, Protocol

import torch
from torch import Tensor, nn

from weft.core.marks import BEGIN, PAD
from weft.core.types import Make
from weft.data.batches import Batch
from weft.model.model import Model
from weft.objective.drawing import drawn
from weft.objective.truth import Constant, TruthProbability

Own = Literal["best", "drawn"]


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
        own: Own = "drawn",
        passes: Literal["steps", "two"] = "steps",
    ):
        super().__init__()
        self.truth = truth()
        self.per_sequence = each == "sequence"
        self.own = own
        self.feed = two_passes if passes == "two" else step_by_step

    def forward(self, model: Model, batch: Batch, step: int) -> Tensor:
        inputs = batch.decoder_input().data
        shape = (len(inputs), 1) if self.per_sequence else inputs.shape
        keep = torch.rand(shape, device=inputs.device).expand_as(inputs) < self.truth(step)
        return self.feed(model, batch, keep, self.own)


class Free(nn.Module):
    """Free running: from the first token on the model is fed its own, as in search."""

    def __init__(self, *, own: Own = "best"):
        super().__init__()
        self.own = own

    def forward(self, model: Model, batch: Batch, step: int) -> Tensor:  # noqa: ARG002 (as all feedings)
        return step_by_step(model, batch, torch.zeros_like(batch.target.mask), self.own)


def step_by_step(model: Model, batch: Batch, keep: Tensor, own: Own) -> Tensor:
    """The true token where `keep` [B,T] says so, else what follows from the tokens that were fed before."""
    inputs = batch.decoder_input().data
    state = model.decoder.start(model.encode(batch.source))
    outputs: list[Tensor] = []
    tokens = inputs[:, 0]
    for place in range(inputs.shape[1]):
        if place:
            tokens = torch.where(keep[:, place], inputs[:, place], own_tokens(model, outputs[-1][:, 0], own))
        first = torch.full_like(tokens, place)
        output, state = model.decoder(model.target(tokens[:, None], first), state)
        outputs.append(output.hidden)
    return torch.cat(outputs, 1)


def two_passes(model: Model, batch: Batch, keep: Tensor, own: Own) -> Tensor:
    """The true token where `keep` [B,T] says so, else what would follow from the truth."""
    inputs = batch.decoder_input().data
    with torch.no_grad():
        guesses = own_tokens(model, model.features(batch).hidden, own)  # [B,T], of the next position each
    guessed = torch.cat([inputs[:, :1], guesses[:, :-1]], 1)
    return model.features(batch, torch.where(keep, inputs, guessed)).hidden


@torch.no_grad()
def own_tokens(model: Model, hidden: Tensor, own: Own) -> Tensor:
    """hidden [...,D] -> the model's next tokens [...], none of which a search would forbid."""
    logits = model.head(hidden)
    logits[..., [PAD, BEGIN]] = float("-inf")
    if own == "best":
        return logits.argmax(-1)
    return drawn(logits)
