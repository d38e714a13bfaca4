"""Connectionist temporal classification, alone or beside a decoder."""

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from weft.core.frames import Frames
from weft.core.marks import FIRST_PIECE
from weft.core.padded import Padded
from weft.core.types import Rate, Share
from weft.data.batches import Batch
from weft.model.model import Model
from weft.nn.memory import Memory
from weft.objective.cross_entropy import cross_entropy
from weft.objective.role import Given, Loss
from weft.objective.room import check_room


class CTCLoss(nn.Module):
    """loss = -log p(y), p(y) = the sum over the paths that spell y of prod_f p(path_f). Graves et al. 2006, eq. 3.

    The count is that of all target tokens, END included, as in CrossEntropy: p(y) says where y ends, too. `parts`: the
    same, whose mean is the logarithm of the perplexity; and 100 for each token of an output that the best path spells
    without a mistake, whose mean is an accuracy in percent (of whole outputs, where CrossEntropy has that of tokens).
    """

    def __init__(self, given: Given):  # noqa: ARG002 (as all objectives)
        super().__init__()

    def forward(self, model: Model, batch: Batch, step: int | None = None) -> Loss:  # noqa: ARG002 (as all objectives)
        frames, losses = path_losses(model, model.encode(batch.source), batch)
        lengths = batch.target.lengths()
        right = (spelled_right(frames, batch.target) * lengths).sum()
        total = losses.sum()
        return Loss(total, lengths.sum().to(total.dtype), {"nll": total.detach(), "accuracy": 100 * right})


class JointLoss(nn.Module):
    """loss = w (-log p_lattice(y)) + (1 - w) cross-entropy of the decoder, over one memory. Kim, Hori & Watanabe 2017.

    The lattice teaches the encoder an order that attention alone finds late. smoothing: of the decoder's part. `parts`:
    nll and accuracy are the decoder's; ctc is the lattice's negative log-likelihood.
    """

    def __init__(self, given: Given, *, weight: Share = 0.3, smoothing: Rate = 0.1):  # noqa: ARG002 (as all objectives)
        super().__init__()
        self.weight = weight
        self.smoothing = smoothing

    def forward(self, model: Model, batch: Batch, step: int | None = None) -> Loss:  # noqa: ARG002 (as all objectives)
        memory = model.encode(batch.source)
        paths = path_losses(model, memory, batch)[1].sum()
        outputs = model.decode(memory, batch.decoder_input().data).hidden
        tokens = cross_entropy(model.head, outputs, batch.target, self.smoothing)
        total = self.weight * paths + (1 - self.weight) * tokens.total
        return Loss(total, tokens.count, {**tokens.parts, "ctc": paths.detach()})


def path_losses(model: Model, memory: Memory, batch: Batch) -> tuple[Frames, Tensor]:
    """The frames, and -log p(y) of each target [B]."""
    frames = model.frames_of(memory)
    check_room(model, frames, batch)
    pieces = frames.log_probs[..., FIRST_PIECE:].transpose(0, 1)  # [F,B,C], the blank last; marks are on no path
    tokens = (batch.target.data - FIRST_PIECE).clamp(min=0)
    lengths = batch.target.lengths() - 1  # END is on no path
    blank = pieces.shape[-1] - 1
    return frames, F.ctc_loss(pieces, tokens, frames.mask.sum(1), lengths, blank=blank, reduction="none")


@torch.no_grad()
def spelled_right(frames: Frames, target: Padded) -> Tensor:
    """Does the likeliest class of each frame spell the target? [B]"""
    blank = frames.log_probs.shape[-1] - 1
    path = frames.log_probs.argmax(-1).masked_fill(~frames.mask, blank)  # [B,F]
    before = F.pad(path[:, :-1], (1, 0), value=blank)
    told = (path != blank) & (path != before)
    places = torch.where(told, told.cumsum(1) - 1, path.shape[1])  # of each token in the output; the rest is put aside
    spelled = torch.full_like(F.pad(path, (0, 1)), blank).scatter(1, places, path)[:, :-1]
    width = max(spelled.shape[1], target.data.shape[1] - 1)
    wanted = target.data.masked_fill(~target.mask, blank).scatter(1, target.lengths()[:, None] - 1, blank)
    return (widened(spelled, width, blank) == widened(wanted[:, :-1], width, blank)).all(1)


def widened(rows: Tensor, width: int, value: int) -> Tensor:
    """[B,width], filled up at the end."""
    return F.pad(rows, (0, width - rows.shape[1]), value=value)
