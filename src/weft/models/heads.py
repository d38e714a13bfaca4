"""Output layers: the linear head of a decoder, and frame heads, which predict the whole output from the memory at
once (CTC, Graves et al. 2006; position-wise).

The position-wise heads predict p(y | x) = p(n | x) prod_i p(y_i | x, i): given the source, the tokens are independent.
length_prediction: with `eos`, EOS is a class, and the output ends before the first frame that predicts it; with
`classifier`, each frame has one more score e_i, and p(n | x) = softmax(e)_n is the probability of n tokens.
"""

from collections.abc import Sequence
from itertools import pairwise
from typing import Literal

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from weft.core.padded import Padded, upcast
from weft.core.setting_types import PositiveInt, Rate
from weft.core.special_tokens import NUM_SPECIAL_TOKENS
from weft.core.state import FrameOutput
from weft.models.interfaces import require_source
from weft.nn.dropout import Dropout
from weft.nn.encoder_memory import Memory, MemorySizes
from weft.nn.layers import normal_init

LengthPrediction = Literal["eos", "classifier"]


class LinearHead(nn.Module):
    """logits = W h + b.

    sparse: where only some classes are computed, the gradient of W has their rows only; see optim/optimizers.py.
    """

    def __init__(self, dim: int, classes: int, *, bias: bool = True, sparse: bool = False):
        super().__init__()
        self.sparse = sparse
        self.weight = nn.Parameter(normal_init(classes, dim, std=dim**-0.5))
        self.bias = nn.Parameter(torch.zeros(classes)) if bias else None

    def forward(self, hidden: Tensor, classes: Tensor | None = None) -> Tensor:
        if classes is None:
            return upcast(F.linear(hidden, self.weight, self.bias))
        return upcast(F.linear(hidden, self.rows(classes), None if self.bias is None else self.bias[classes]))

    def rows(self, classes: Tensor) -> Tensor:
        return F.embedding(classes, self.weight, sparse=self.sparse)


class CTCHead(nn.Module):
    """p(c | frame) = softmax(W h + b) over the tokens and the blank, for every frame by itself. Graves et al. 2006.

    A path is a class for each frame; it spells the tokens that are left when repeats are merged and blanks removed. The
    probability of an output is the sum over its paths (equation 3). upsample: the number of frames for each position of
    the memory, h_k = W_k h + b_k (Libovicky & Helcl 2018, section 3), for outputs longer than their sources. Special
    tokens have no weights and probability 0: they are on no path, and only keep the ids.
    """

    blank = True
    max_length: int | None = None

    def __init__(self, sizes: MemorySizes, classes: int, *, upsample: PositiveInt = 1):
        super().__init__()
        require_source(sizes)
        self.upsample = upsample
        self.split = nn.Linear(sizes.keys, upsample * sizes.keys) if upsample > 1 else nn.Identity()
        self.output = nn.Linear(sizes.keys, classes - NUM_SPECIAL_TOKENS + 1)

    def forward(self, memory: Memory) -> FrameOutput:
        batch, positions, dim = memory.keys.shape
        hidden = self.split(memory.keys).view(batch, positions * self.upsample, dim)
        log_probs = upcast(self.output(hidden)).log_softmax(-1)
        with_special_tokens = F.pad(log_probs, (NUM_SPECIAL_TOKENS, 0), value=float("-inf"))
        return FrameOutput(with_special_tokens, memory.mask.repeat_interleave(self.upsample, dim=1))

    def required_frames(self, target: Padded) -> Tensor:
        """One for each token but EOS, and one for the blank between two equal tokens."""
        repeats = (target.data[:, 1:] == target.data[:, :-1]) & target.mask[:, 1:]
        return target.lengths() - 1 + repeats.sum(1)


class AlignedHead(nn.Module):
    """Frame i reads memory position i: p(y_i | x, i) = softmax(mlp(h_i)), with hidden layers of `hidden_dims`.

    After a recurrent encoder it is "LSTM -> Dense". The source's EOS has a position too, so an output can have as many
    tokens as its source, and no more.
    """

    blank = False
    max_length: int | None = None

    def __init__(
        self,
        memory: MemorySizes,
        classes: int,
        *,
        hidden_dims: tuple[PositiveInt, ...] = (),
        length_prediction: LengthPrediction = "eos",
        dropout: Rate = 0.0,
    ):
        super().__init__()
        require_source(memory)
        self.classes = classes
        self.network = mlp(memory.keys, hidden_dims, frame_dim(classes, length_prediction), dropout)

    def forward(self, memory: Memory) -> FrameOutput:
        return frames_from_scores(self.network(memory.keys), memory.mask, self.classes)

    def required_frames(self, target: Padded) -> Tensor:
        return target.lengths()


class DenseHead(nn.Module):
    """All frames from all positions: [z_1; ...; z_M] = mlp([h_1; ...; h_M]), p(y_i | x, i) = softmax(z_i).

    A network of fixed size M = `max_length`, "Dense -> Dense" if the encoder is `identity`. Neither side may have more
    tokens than that, with EOS; shorter sources are filled with zeros. Every weight belongs to a position, so
    nothing learned about a token at one position helps at the next.
    """

    blank = False

    def __init__(
        self,
        memory: MemorySizes,
        classes: int,
        *,
        max_length: PositiveInt = 64,
        hidden_dims: tuple[PositiveInt, ...] = (512,),
        length_prediction: LengthPrediction = "eos",
        dropout: Rate = 0.0,
    ):
        super().__init__()
        require_source(memory)
        self.classes = classes
        self.max_length: int | None = max_length
        self.frames = max_length
        output_dim = max_length * frame_dim(classes, length_prediction)
        self.network = mlp(max_length * memory.keys, hidden_dims, output_dim, dropout)

    def forward(self, memory: Memory) -> FrameOutput:
        length = memory.mask.shape[1]
        if length > self.frames:
            raise ValueError(f"a source of {length} tokens, EOS counted, is longer than the {self.frames} positions")
        real = memory.keys.masked_fill(~memory.mask[:, :, None], 0)
        padded = F.pad(real, (0, 0, 0, self.frames - length))  # [B,M,D]
        scores = self.network(padded.flatten(1)).unflatten(1, (self.frames, -1))
        return frames_from_scores(scores, memory.mask.new_ones(scores.shape[:2]), self.classes)

    def required_frames(self, target: Padded) -> Tensor:
        return target.lengths()


def frame_dim(classes: int, length_prediction: LengthPrediction) -> int:
    return classes + 1 if length_prediction == "classifier" else classes


def mlp(input_dim: int, hidden_dims: Sequence[int], output_dim: int, dropout: float) -> nn.Sequential:
    """W_n relu(... relu(W_1 x + b_1) ...) + b_n, with dropout before each matrix."""
    dims = (input_dim, *hidden_dims)
    hidden = [part for pair in pairwise(dims) for part in (Dropout(dropout), nn.Linear(*pair), nn.ReLU())]
    return nn.Sequential(*hidden, Dropout(dropout), nn.Linear(dims[-1], output_dim))


def frames_from_scores(scores: Tensor, mask: Tensor, classes: int) -> FrameOutput:
    """scores [B,F,C], or [B,F,C+1] with the scores of the lengths in the last column -> log-probabilities."""
    scores = upcast(scores)
    log_probs = scores[..., :classes].log_softmax(-1)
    if scores.shape[-1] == classes:
        return FrameOutput(log_probs, mask)
    return FrameOutput(log_probs, mask, scores[..., classes].masked_fill(~mask, float("-inf")).log_softmax(-1))
