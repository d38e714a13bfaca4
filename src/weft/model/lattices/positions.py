"""Instant decoders: frame i is the i-th token of the output, and none waits for another.

p(y | x) = p(n | x) prod_i p(y_i | x, i): given the source, the tokens do not depend on each other. `length` says where
an output ends. With `end`, END is a class like any other: the output ends before the first frame that says it. With
`head`, each frame has one more number e_i, and p(n | x) = softmax(e)_n is the probability of n tokens.
"""

from collections.abc import Sequence
from itertools import pairwise
from typing import Literal

from torch import Tensor, nn
from torch.nn import functional as F

from weft.core.frames import Frames
from weft.core.padded import Padded
from weft.core.types import Count, Rate
from weft.core.wide import wide
from weft.model.source import require_positions
from weft.nn.dropout import Dropout
from weft.nn.memory import Memory, Sizes

Length = Literal["end", "head"]


class Aligned(nn.Module):
    """Frame i reads memory position i: p(y_i | x, i) = softmax(dense(h_i)), with the hidden layers of `widths`.

    After a recurrent encoder it is "LSTM -> Dense". The source's END has a position too, so an output may have as many
    tokens as its source, and no more.
    """

    blank = False
    limit: int | None = None

    def __init__(
        self,
        memory: Sizes,
        classes: int,
        *,
        widths: tuple[Count, ...] = (),
        length: Length = "end",
        dropout: Rate = 0.0,
    ):
        super().__init__()
        require_positions(memory)
        self.classes = classes
        self.network = network(memory.keys, widths, columns(classes, length), dropout)

    def forward(self, memory: Memory) -> Frames:
        return as_frames(self.network(memory.keys), memory.mask, self.classes)

    def needs(self, target: Padded) -> Tensor:
        return target.lengths()


class Dense(nn.Module):
    """All frames from all positions: [z_1; ...; z_limit] = dense([h_1; ...; h_limit]), p(y_i | x, i) = softmax(z_i).

    The network of a fixed size: "Dense -> Dense" if the encoder is `embedded`. Neither side may have more than `limit`
    tokens, END counted; where the source has fewer, zeros stand. Every weight belongs to a place, so that what is
    learned of a token in one place is not known in the next.
    """

    blank = False

    def __init__(
        self,
        memory: Sizes,
        classes: int,
        *,
        limit: Count = 64,
        widths: tuple[Count, ...] = (512,),
        length: Length = "end",
        dropout: Rate = 0.0,
    ):
        super().__init__()
        require_positions(memory)
        self.classes = classes
        self.limit: int | None = limit
        self.places = limit
        self.network = network(limit * memory.keys, widths, limit * columns(classes, length), dropout)

    def forward(self, memory: Memory) -> Frames:
        length = memory.mask.shape[1]
        if length > self.places:
            raise ValueError(f"a source of {length} tokens, END counted, is longer than the {self.places} places")
        real = memory.keys.masked_fill(~memory.mask[:, :, None], 0)
        places = F.pad(real, (0, 0, 0, self.places - length))  # [B,limit,D]
        scores = self.network(places.flatten(1)).unflatten(1, (self.places, -1))
        return as_frames(scores, memory.mask.new_ones(scores.shape[:2]), self.classes)

    def needs(self, target: Padded) -> Tensor:
        return target.lengths()


def columns(classes: int, length: Length) -> int:
    """How many numbers a frame has: one for each class, and one more where a length is read from them."""
    return classes + 1 if length == "head" else classes


def network(input_dim: int, widths: Sequence[int], output_dim: int, dropout: float) -> nn.Sequential:
    """W_n relu(... relu(W_1 x + b_1) ...) + b_n, with dropout before each matrix."""
    dims = (input_dim, *widths)
    hidden = [part for pair in pairwise(dims) for part in (Dropout(dropout), nn.Linear(*pair), nn.ReLU())]
    return nn.Sequential(*hidden, Dropout(dropout), nn.Linear(dims[-1], output_dim))


def as_frames(scores: Tensor, mask: Tensor, classes: int) -> Frames:
    """scores [B,F,C], or [B,F,C+1] whose last column is about the length -> log-probabilities."""
    scores = wide(scores)
    log_probs = scores[..., :classes].log_softmax(-1)
    if scores.shape[-1] == classes:
        return Frames(log_probs, mask)
    return Frames(log_probs, mask, scores[..., classes].masked_fill(~mask, float("-inf")).log_softmax(-1))
