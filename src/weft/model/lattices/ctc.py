"""Connectionist temporal classification. Graves, Fernandez, Gomez & Schmidhuber 2006."""

from torch import Tensor, nn
from torch.nn import functional as F

from weft.core.frames import Frames
from weft.core.marks import FIRST_PIECE
from weft.core.padded import Padded
from weft.core.types import Count
from weft.core.wide import wide
from weft.model.source import require_positions
from weft.nn.memory import Memory, Sizes


class CTC(nn.Module):
    """p(c | frame) = softmax(W h + b) over the pieces and the blank, for every frame by itself.

    A path is a class for each frame; it spells the tokens that are left when repeats are merged and blanks removed. The
    probability of an output is the sum over its paths (equation 3). `upsample`: each position of the memory becomes so
    many frames, h_k = W_k h + b_k (Libovicky & Helcl 2018, section 3), for outputs that are longer than their sources.
    PAD, BEGIN and END have no weights, since no path has them: they are there, with probability 0, to keep the ids.
    """

    blank = True
    limit: int | None = None

    def __init__(self, sizes: Sizes, classes: int, *, upsample: Count = 1):
        super().__init__()
        require_positions(sizes)
        self.upsample = upsample
        self.split = nn.Linear(sizes.keys, upsample * sizes.keys) if upsample > 1 else nn.Identity()
        self.output = nn.Linear(sizes.keys, classes - FIRST_PIECE + 1)

    def forward(self, memory: Memory) -> Frames:
        batch, positions, dim = memory.keys.shape
        hidden = self.split(memory.keys).view(batch, positions * self.upsample, dim)
        log_probs = wide(self.output(hidden)).log_softmax(-1)
        with_marks = F.pad(log_probs, (FIRST_PIECE, 0), value=float("-inf"))
        return Frames(with_marks, memory.mask.repeat_interleave(self.upsample, dim=1))

    def needs(self, target: Padded) -> Tensor:
        """A frame for each token but END, and one more for the blank between two that are equal."""
        equal = (target.data[:, 1:] == target.data[:, :-1]) & target.mask[:, 1:]
        return target.lengths() - 1 + equal.sum(1)
