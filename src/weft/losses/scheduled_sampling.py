"""The tokens that a decoder reads in training: teacher forcing (Williams & Zipser 1989), scheduled sampling (Bengio et
al. 2015) and free running.
"""

import math
from dataclasses import dataclass
from typing import Literal, Protocol

import torch
from torch import Tensor

from weft.core.setting_types import Factory, PositiveFloat, UnitInterval
from weft.core.special_tokens import BOS, PAD
from weft.data.batches import Batch
from weft.models.model import Model

PredictionMode = Literal["argmax", "sample"]


class TeacherForcingProbability(Protocol):
    """The probability e of the true token at a step. Bengio et al. 2015, section 2.4."""

    def __call__(self, step: int) -> float: ...


@dataclass(frozen=True, kw_only=True)
class ConstantProbability:
    """e = probability."""

    probability: UnitInterval = 0.75

    def __call__(self, step: int) -> float:  # noqa: ARG002 (interface)
        return self.probability


@dataclass(frozen=True, kw_only=True)
class LinearDecay:
    """e = max(minimum, initial - slope s)."""

    initial: UnitInterval = 1.0
    slope: PositiveFloat = 1e-4
    minimum: UnitInterval = 0.0

    def __call__(self, step: int) -> float:
        return max(self.minimum, self.initial - self.slope * step)


@dataclass(frozen=True, kw_only=True)
class ExponentialDecay:
    """e = base^s."""

    base: UnitInterval = 0.9999

    def __call__(self, step: int) -> float:
        return self.base**step


@dataclass(frozen=True, kw_only=True)
class InverseSigmoidDecay:
    """e = k / (k + exp(s / k)): near 1 at first, 1/2 at s = k log k, then quickly to 0."""

    k: PositiveFloat = 1000.0

    def __call__(self, step: int) -> float:
        return 1 / (1 + math.exp(min(700.0, step / self.k)) / self.k)


class DecoderInputPolicy(Protocol):
    """Returns the decoder's output [B,T,D] for every target position of a batch, in the update numbered `step`."""

    def __call__(self, model: Model, batch: Batch, step: int) -> Tensor: ...


class TeacherForcing:
    """At each position, the true tokens before it. Williams & Zipser 1989."""

    def __call__(self, model: Model, batch: Batch, step: int) -> Tensor:  # noqa: ARG002 (interface)
        return model.features(batch).hidden


class ScheduledSampling:
    """With probability e(step) the true token, else one predicted by the model. Bengio et al. 2015.

    schedule: e. sample_per: whether the choice is made for each token, or once for a sequence. prediction: the most
    probable token, or a sampled one. method: `stepwise` decodes token by token, so that a predicted token follows from
    the predicted tokens before it; `two-pass` predicts all tokens in a first pass with teacher forcing, and reads the
    mixture in a second (Mihaylova & Martins 2019), which keeps a Transformer parallel. The choice has no gradient.
    """

    def __init__(
        self,
        *,
        schedule: Factory[TeacherForcingProbability] = ConstantProbability,
        sample_per: Literal["token", "sequence"] = "token",
        prediction: PredictionMode = "sample",
        method: Literal["stepwise", "two-pass"] = "stepwise",
    ):
        self.schedule = schedule()
        self.per_sequence = sample_per == "sequence"
        self.prediction = prediction
        self.decode = decode_in_two_passes if method == "two-pass" else decode_stepwise

    def __call__(self, model: Model, batch: Batch, step: int) -> Tensor:
        inputs = batch.decoder_input().data
        shape = (len(inputs), 1) if self.per_sequence else inputs.shape
        use_truth = torch.rand(shape, device=inputs.device).expand_as(inputs) < self.schedule(step)
        return self.decode(model, batch, use_truth, self.prediction)


@dataclass(frozen=True, kw_only=True)
class FreeRunning:
    """From the first token on, the model's own predictions, as in search."""

    prediction: PredictionMode = "argmax"

    def __call__(self, model: Model, batch: Batch, step: int) -> Tensor:  # noqa: ARG002 (interface)
        return decode_stepwise(model, batch, torch.zeros_like(batch.target.mask), self.prediction)


def decode_stepwise(model: Model, batch: Batch, use_truth: Tensor, prediction: PredictionMode) -> Tensor:
    """Read the true token where `use_truth` [B,T], else one predicted from the tokens read before."""
    inputs = batch.decoder_input().data
    state = model.decoder.start(model.encode(batch.source))
    outputs: list[Tensor] = []
    tokens = inputs[:, 0]
    for step in range(inputs.shape[1]):
        if step:
            predicted = predict_tokens(model, outputs[-1][:, 0], prediction)
            tokens = torch.where(use_truth[:, step], inputs[:, step], predicted)
        output, state = model.decoder(model.target(tokens[:, None], torch.full_like(tokens, step)), state)
        outputs.append(output.hidden)
    return torch.cat(outputs, 1)


def decode_in_two_passes(model: Model, batch: Batch, use_truth: Tensor, prediction: PredictionMode) -> Tensor:
    """Read the true token where `use_truth` [B,T], else one predicted from the true tokens before it."""
    inputs = batch.decoder_input().data
    with torch.no_grad():
        following = predict_tokens(model, model.features(batch).hidden, prediction)  # [B,T]
    predicted = torch.cat([inputs[:, :1], following[:, :-1]], 1)
    return model.features(batch, torch.where(use_truth, inputs, predicted)).hidden


@torch.no_grad()
def predict_tokens(model: Model, hidden: Tensor, prediction: PredictionMode) -> Tensor:
    """hidden [...,D] -> the model's next tokens [...], never PAD or BOS."""
    logits = model.head(hidden)
    logits[..., [PAD, BOS]] = float("-inf")
    return logits.argmax(-1) if prediction == "argmax" else sample_from_logits(logits)


def sample_from_logits(logits: Tensor) -> Tensor:
    """Draw from softmax(logits) [...,V] -> [...]: argmax_v(z_v + g_v), g from a Gumbel distribution.

    Maddison, Tarlow & Minka 2014.
    """
    gumbel = -torch.empty_like(logits).exponential_().log()
    return (logits + gumbel).argmax(-1)
