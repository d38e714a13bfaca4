"""Attention over an encoder's memory with any score function, with one or several heads, over all positions or a
local window (Luong et al. 2015, section 3.2).
"""

from typing import NamedTuple, Protocol, TypeAlias

import torch
from torch import Tensor, nn

from weft.core.padded import upcast
from weft.core.setting_types import Factory, PositiveInt, Rate
from weft.nn.attention_scores import AttentionScore, ScaledDotScore
from weft.nn.dropout import Dropout
from weft.nn.encoder_memory import Memory, MemorySizes


class AttentionWindow(Protocol):
    """Turns scores into weights. Called as Window(query_dim, ...)."""

    uses_steps: bool

    def __call__(self, scores: Tensor, query: Tensor, lengths: Tensor, steps: Tensor | None) -> Tensor:
        """scores [B,H,T,S] (-inf in the padding), query [B,H,T,Q] -> weights [B,H,T,S].

        lengths [B,1,1,1]: of the sources. steps [B,1,T,1]: the index of each query in its output, from 0, if the window
        uses them.
        """
        ...


class GlobalWindow(nn.Module):
    """a = softmax(e)."""

    uses_steps = False

    def __init__(self, query_dim: int):  # noqa: ARG002 (interface)
        super().__init__()

    def forward(self, scores: Tensor, query: Tensor, lengths: Tensor, steps: Tensor | None) -> Tensor:  # noqa: ARG002
        return scores.softmax(-1)


class LocalMonotonicWindow(nn.Module):
    """local-m: a = softmax(e) over the positions j with |j - p| <= half_width, p = min(t, S - 1)."""

    uses_steps = True

    def __init__(self, query_dim: int, *, half_width: PositiveInt = 10):  # noqa: ARG002
        super().__init__()
        self.half_width = half_width

    def forward(self, scores: Tensor, query: Tensor, lengths: Tensor, steps: Tensor | None) -> Tensor:  # noqa: ARG002
        if steps is None:
            raise ValueError("local-m needs the step of each query")
        return mask_outside_window(scores, torch.minimum(steps, lengths - 1), self.half_width).softmax(-1)


class LocalPredictiveWindow(nn.Module):
    """local-p: p = S sigmoid(v·tanh(W q)) (equation 9), a = softmax(e) exp(-(j - p)² / 2σ²) with σ = half_width / 2
    (equation 10), over |j - p| <= half_width; S is the length without padding.
    """

    uses_steps = False

    def __init__(self, query_dim: int, *, half_width: PositiveInt = 10):
        super().__init__()
        self.half_width = half_width
        self.hidden = nn.Linear(query_dim, query_dim, bias=False)
        self.vector = nn.Linear(query_dim, 1, bias=False)

    def forward(self, scores: Tensor, query: Tensor, lengths: Tensor, steps: Tensor | None) -> Tensor:  # noqa: ARG002
        share = upcast(torch.sigmoid(self.vector(torch.tanh(self.hidden(query)))))  # [B,H,T,1]
        center = lengths * share  # in float32: half precision counts exactly only to 256 or 2048
        distance = torch.arange(scores.shape[-1], device=scores.device) - center
        weights = mask_outside_window(scores, center, self.half_width).softmax(-1)
        return weights * torch.exp(-2 * (distance / self.half_width) ** 2).to(scores.dtype)


def mask_outside_window(scores: Tensor, center: Tensor, half_width: int) -> Tensor:
    positions = torch.arange(scores.shape[-1], device=scores.device)
    return scores.masked_fill((positions - center).abs() > half_width, float("-inf"))


def split_heads(x: Tensor, heads: int) -> Tensor:
    """[N,T,H D] -> [N,H,T,D]."""
    return x.view(*x.shape[:2], heads, -1).transpose(1, 2)


def join_heads(x: Tensor) -> Tensor:
    """[N,H,T,D] -> [N,T,H D]."""
    return x.transpose(1, 2).flatten(2)


class PreparedMemory(NamedTuple):
    """What an attention computes from the memory once, a row per sentence."""

    keys: Tensor  # [B,H,S,·]
    values: Tensor  # [B,H,S,·]
    bias: Tensor  # [B,1,1,S], -inf in the padding
    lengths: Tensor  # [B]


class AttentionHistory(NamedTuple):
    """What an attention carries from step to step, a row per hypothesis."""

    steps: Tensor  # [N], number of queries so far
    coverage: Tensor  # [N,S], the sum of the weights so far, averaged over the heads; [N,0] if no score uses it


AttentionCarry: TypeAlias = AttentionHistory | tuple[()]  # empty unless the score or the window depends on the past


class CrossAttention(nn.Module):
    """context = window(score(query, keys)) values, for each head.

    projected: queries, keys, values and the joined contexts each get a linear map, the last one of width `dim`
    (multi-head attention, Vaswani et al. 2017, section 3.2.2); otherwise each head gets its share of the memory as it
    is (Bahdanau et al. 2015), and the context has the width of a value.
    """

    def __init__(
        self,
        query_dim: int,
        memory: MemorySizes,
        *,
        score: Factory[AttentionScore] = ScaledDotScore,
        window: Factory[AttentionWindow] = GlobalWindow,
        heads: PositiveInt = 1,
        projected: bool = False,
        dim: PositiveInt | None = None,
        dropout: Rate = 0.0,
    ):
        super().__init__()
        if dim is not None and not projected:
            raise ValueError("dim is the width of the projected values: set projected: true, or omit dim")
        self.heads = heads
        self.dim = dim or memory.values
        key_dim = query_dim if projected else memory.keys
        for name, width in (("query", query_dim), ("key", key_dim), ("value", self.dim)):
            if width % heads:
                raise ValueError(f"{heads} heads do not divide the {name} width {width}")
        self.query = nn.Linear(query_dim, query_dim) if projected else nn.Identity()
        self.key = nn.Linear(memory.keys, key_dim) if projected else nn.Identity()
        self.value = nn.Linear(memory.values, self.dim) if projected else nn.Identity()
        self.out = nn.Linear(self.dim, self.dim) if projected else nn.Identity()
        self.score = score(query_dim // heads, key_dim // heads)
        self.window = window(query_dim // heads)
        self.dropout = Dropout(dropout)

    def prepare(self, memory: Memory) -> PreparedMemory:
        """Compute everything that does not depend on the query."""
        return PreparedMemory(
            self.score.prepare_keys(split_heads(self.key(memory.keys), self.heads)),
            split_heads(self.value(memory.values), self.heads),
            memory.padded().bias(memory.keys.dtype)[:, None, None, :],
            memory.padded().lengths(),
        )

    def start(self, memory: Memory) -> AttentionCarry:
        """Return the carry before the first query."""
        if not (self.score.uses_coverage or self.window.uses_steps):
            return ()
        rows, positions = memory.mask.shape
        coverage = memory.keys.new_zeros(rows, positions if self.score.uses_coverage else 0)
        return AttentionHistory(memory.padded().lengths().new_zeros(rows), coverage)

    def forward(
        self, query: Tensor, prepared: PreparedMemory, carry: AttentionCarry
    ) -> tuple[Tensor, Tensor, AttentionCarry]:
        """query [N,T,Q] over B sentences, N = B K -> context [N,T,D], weights [N,H,T,S], the next carry.

        The K hypotheses of a sentence are K T queries to one memory, so the memory is never repeated.
        """
        if self.score.uses_coverage and query.shape[1] > 1:
            return self._attend_stepwise(query, prepared, carry)
        rows, steps, _ = query.shape
        sentences = len(prepared.bias)
        folded = self.query(query).reshape(sentences, -1, query.shape[-1])  # [B,K T,Q]
        weights = self._weights(split_heads(folded, self.heads), prepared, carry, steps)  # [B,H,K T,S]
        context = self.out(join_heads(self.dropout(weights) @ prepared.values))
        unfolded = weights.view(sentences, self.heads, -1, steps, weights.shape[-1]).transpose(1, 2).flatten(0, 1)
        if carry:
            coverage = carry.coverage + unfolded.mean(1).sum(1) if self.score.uses_coverage else carry.coverage
            carry = AttentionHistory(carry.steps + steps, coverage)
        return context.reshape(rows, steps, -1), unfolded, carry

    def _weights(self, query: Tensor, prepared: PreparedMemory, carry: AttentionCarry, count: int) -> Tensor:
        """query [B,H,K T,Q] with T = count -> weights [B,H,K T,S]."""
        sentences, steps, coverage = len(prepared.bias), None, None
        if carry and self.window.uses_steps:
            numbers = carry.steps[:, None] + torch.arange(count, device=carry.steps.device)  # [N,T]
            steps = numbers.view(sentences, 1, -1, 1)
        if carry and self.score.uses_coverage:
            coverage = carry.coverage.view(sentences, 1, -1, carry.coverage.shape[-1])
        scores = self.score(query, prepared.keys, coverage) + prepared.bias
        return self.window(scores, query, prepared.lengths.view(-1, 1, 1, 1), steps)

    def _attend_stepwise(
        self, queries: Tensor, prepared: PreparedMemory, carry: AttentionCarry
    ) -> tuple[Tensor, Tensor, AttentionCarry]:
        """With coverage, the weights of a query depend on those of the queries before it."""
        contexts, all_weights = [], []
        for query in queries[:, :, None].unbind(1):
            context, weights, carry = self(query, prepared, carry)
            contexts.append(context)
            all_weights.append(weights)
        return torch.cat(contexts, 1), torch.cat(all_weights, 2), carry
