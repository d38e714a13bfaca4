"""Losses of frame heads: connectionist temporal classification (Graves et al. 2006), alone or jointly with a decoder
(Kim, Hori & Watanabe 2017), and cross-entropy of heads whose frame i predicts output token i.
"""

from dataclasses import KW_ONLY, dataclass

import torch
from torch import Tensor
from torch.nn import functional as F

from weft.core.errors import UserError
from weft.core.padded import Padded
from weft.core.setting_types import Rate, UnitInterval
from weft.core.special_tokens import EOS, NUM_SPECIAL_TOKENS
from weft.core.state import FrameOutput
from weft.data.batches import Batch
from weft.losses.cross_entropy import cross_entropy
from weft.losses.objective import Loss, ObjectiveContext
from weft.models.model import Model
from weft.nn.encoder_memory import Memory


@dataclass(frozen=True)
class CTCLoss:
    """loss = -log p(y), p(y) = the sum over the paths that spell y of prod_f p(path_f). Graves et al. 2006, eq. 3.

    The count is that of all target tokens, EOS included, as in CrossEntropyLoss. `parts`: nll, whose mean is the
    logarithm of the perplexity, and an accuracy in percent, of whole outputs: 100 for each token of an output that the
    best path spells without a mistake.
    """

    context: ObjectiveContext

    def __call__(self, model: Model, batch: Batch, step: int | None = None) -> Loss:  # noqa: ARG002 (interface)
        frames, losses = frames_and_ctc_losses(model, model.encode(batch.source), batch)
        lengths = batch.target.lengths()
        correct = (best_path_matches(frames, batch.target) * lengths).sum()
        total = losses.sum()
        return Loss(total, lengths.sum().to(total.dtype), {"nll": total.detach(), "accuracy": 100 * correct})


@dataclass(frozen=True)
class JointCTCLoss:
    """loss = w (-log p_ctc(y)) + (1 - w) cross-entropy of the decoder, over one memory. Kim, Hori & Watanabe 2017.

    The frame head teaches the encoder a monotonic order, which attention alone learns late. label_smoothing: of the
    decoder's part. `parts`: nll and accuracy are the decoder's; ctc is the frame head's negative log-likelihood.
    """

    context: ObjectiveContext
    _: KW_ONLY
    ctc_weight: UnitInterval = 0.3
    label_smoothing: Rate = 0.1

    def __call__(self, model: Model, batch: Batch, step: int | None = None) -> Loss:  # noqa: ARG002 (interface)
        memory = model.encode(batch.source)
        ctc = frames_and_ctc_losses(model, memory, batch)[1].sum()
        outputs = model.decode(memory, batch.decoder_input().data).hidden
        plain = cross_entropy(model.head, outputs, batch.target, self.label_smoothing)
        total = self.ctc_weight * ctc + (1 - self.ctc_weight) * plain.total
        return Loss(total, plain.count, {**plain.parts, "ctc": ctc.detach()})


@dataclass(frozen=True)
class PositionCrossEntropyLoss:
    """-log p(y | x) = sum_i -log p(y_i | x, i), the last y_i being EOS, or -log p(n | x) if the lengths are predicted.

    Tokens are smoothed as in CrossEntropyLoss, lengths are not. The count and the `parts` are as there, with the length
    in place of EOS, so that the two can be compared.
    """

    context: ObjectiveContext
    _: KW_ONLY
    label_smoothing: Rate = 0.1

    def __call__(self, model: Model, batch: Batch, step: int | None = None) -> Loss:  # noqa: ARG002 (interface)
        frames, target = model.frames(batch.source), batch.target
        check_frame_count(model, frames, batch)
        positions = target.mask if frames.lengths is None else target.mask & (target.data != EOS)
        log_probs = frames.log_probs[:, : positions.shape[1]][positions]  # [M,C]
        gold = log_probs.gather(1, target.data[positions][:, None])[:, 0]
        nll, correct = -gold.sum(), (gold == log_probs.amax(1)).sum()
        total = (1 - self.label_smoothing) * nll - self.label_smoothing * log_probs.mean(1).sum()
        if frames.lengths is not None:
            length = frames.lengths.gather(1, target.lengths()[:, None] - 1)[:, 0]
            total, nll = total - length.sum(), nll - length.sum()
            correct = correct + (length == frames.lengths.amax(1)).sum()
        return Loss(total, target.mask.sum().to(total.dtype), {"nll": nll.detach(), "accuracy": 100 * correct})


def check_frame_count(model: Model, frames: FrameOutput, batch: Batch) -> None:
    """Raise UserError for a target that needs more frames than there are: its loss would be infinite."""
    if model.frame_head is None:
        return
    required, available = model.frame_head.required_frames(batch.target), frames.mask.sum(1)
    if (required > available).any():
        row = int((required > available).nonzero()[0])
        raise UserError(
            f"pair {batch.corpus_indices[row] + 1} has too few frames: its target needs {required[row]}, and its "
            f"source gives {available[row]}. Leave such pairs out; raise model.frame_head.upsample, if its type has "
            "that; or take a model with a decoder"
        )


def frames_and_ctc_losses(model: Model, memory: Memory, batch: Batch) -> tuple[FrameOutput, Tensor]:
    """Return the frames and -log p(y) of each target [B]."""
    frames = model.frames_from_memory(memory)
    check_frame_count(model, frames, batch)
    log_probs = frames.log_probs[..., NUM_SPECIAL_TOKENS:].transpose(0, 1)  # [F,B,C]: no path has special tokens
    tokens = (batch.target.data - NUM_SPECIAL_TOKENS).clamp(min=0)
    lengths = batch.target.lengths() - 1  # without EOS
    blank = log_probs.shape[-1] - 1
    return frames, F.ctc_loss(log_probs, tokens, frames.mask.sum(1), lengths, blank=blank, reduction="none")


@torch.no_grad()
def best_path_matches(frames: FrameOutput, target: Padded) -> Tensor:
    """Return whether the most probable class of each frame spells the target [B]."""
    blank = frames.log_probs.shape[-1] - 1
    path = frames.log_probs.argmax(-1).masked_fill(~frames.mask, blank)  # [B,F]
    previous = F.pad(path[:, :-1], (1, 0), value=blank)
    emits = (path != blank) & (path != previous)
    columns = torch.where(emits, emits.cumsum(1) - 1, path.shape[1])  # of each token in the output; one for the others
    spelled = torch.full_like(F.pad(path, (0, 1)), blank).scatter(1, columns, path)[:, :-1]
    expected = target.data.masked_fill(~target.mask, blank).scatter(1, target.lengths()[:, None] - 1, blank)[:, :-1]
    width = max(spelled.shape[1], expected.shape[1])
    spelled, expected = (F.pad(rows, (0, width - rows.shape[1]), value=blank) for rows in (spelled, expected))
    return (spelled == expected).all(1)
