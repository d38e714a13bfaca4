"""Cross-entropy of frames that are the output's positions."""

from torch import Tensor, nn

from weft.core.frames import Frames
from weft.core.marks import END
from weft.core.padded import Padded
from weft.core.types import Rate
from weft.data.batches import Batch
from weft.model.model import Model
from weft.objective.role import Given, Loss
from weft.objective.room import check_room


class PositionEntropy(nn.Module):
    """-log p(y | x) = sum_i -log p(y_i | x, i), where the last y_i is END; a length head says -log p(n | x) instead.

    Tokens are smoothed as in CrossEntropy, lengths are not. The count and the `parts` are as there, with the length in
    END's place, so that the two can be compared.
    """

    def __init__(self, given: Given, *, smoothing: Rate = 0.1):  # noqa: ARG002 (as all objectives)
        super().__init__()
        self.smoothing = smoothing

    def forward(self, model: Model, batch: Batch, step: int | None = None) -> Loss:  # noqa: ARG002 (as all objectives)
        frames = model.frames(batch.source)
        check_room(model, frames, batch)
        said, tokens = at_places(frames, batch.target)
        gold = said.gather(1, tokens[:, None])[:, 0]
        likelihood, right = -gold.sum(), (gold == said.amax(1)).sum()
        total = (1 - self.smoothing) * likelihood - self.smoothing * said.mean(1).sum()
        if frames.lengths is not None:
            length = frames.lengths.gather(1, batch.target.lengths()[:, None] - 1)[:, 0]
            total, likelihood = total - length.sum(), likelihood - length.sum()
            right = right + (length == frames.lengths.amax(1)).sum()
        return Loss(
            total, batch.target.mask.sum().to(total.dtype), {"nll": likelihood.detach(), "accuracy": 100 * right}
        )


def at_places(frames: Frames, target: Padded) -> tuple[Tensor, Tensor]:
    """What the frames say [M,C] at the places of the M target tokens [M]; END is one of them, unless lengths tell."""
    places = target.mask if frames.lengths is None else target.mask & (target.data != END)
    return frames.log_probs[:, : places.shape[1]][places], target.data[places]
