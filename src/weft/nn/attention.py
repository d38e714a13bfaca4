"""Attention over a memory with any score, and the Transformer's attention of a sequence to itself."""

from __future__ import annotations

from typing import NamedTuple, cast

import torch
from torch import Tensor, nn

from weft.core import watch
from weft.core.tree import Tree
from weft.core.types import Count, Make, Rate
from weft.nn.dropout import Dropout
from weft.nn.memory import Memory, Sizes
from weft.nn.positions import rotate
from weft.nn.reach import Operands, in_blocks, out_of_blocks, pays_in_blocks, within_reach
from weft.nn.scores import ScaledDot, Score
from weft.nn.windows import Global, Place, Window


def split_heads(x: Tensor, heads: int) -> Tensor:
    """[N,T,H D] -> [N,H,T,D]."""
    return x.view(*x.shape[:2], heads, -1).transpose(1, 2)


def join_heads(x: Tensor) -> Tensor:
    """[N,H,T,D] -> [N,T,H D]."""
    return x.transpose(1, 2).flatten(2)


class Prepared(NamedTuple):
    """A memory as one attention needs it: a row per sentence, computed once."""

    keys: Tensor  # [B,H,S,·]
    values: Tensor  # [B,H,S,·]
    bias: Tensor  # [B,1,1,S], minus infinity in the padding
    lengths: Tensor  # [B]


class Past(NamedTuple):
    """What an attention remembers from step to step, a row per hypothesis."""

    steps: Tensor  # [N], queries so far
    coverage: Tensor  # [N,S], the weight that each position has had so far, in the mean of the heads


class Attention(nn.Module):
    """context = window(score(query, keys)) values, for each head.

    With `projected`, queries, keys and values get their own matrices and the heads' contexts are mapped once more, to
    `dim` numbers (multi-head attention, Vaswani et al. 2017, section 3.2.2); else each head takes its share of the
    memory as it is (Bahdanau). The context is as wide as a value, unless `dim` says otherwise.
    """

    def __init__(
        self,
        query_dim: int,
        memory: Sizes,
        *,
        score: Make[Score] = ScaledDot,
        window: Make[Window] = Global,
        heads: Count = 1,
        projected: bool = False,
        dim: Count | None = None,
        dropout: Rate = 0.0,
    ):
        super().__init__()
        self.heads = heads
        self.dim = dim if projected and dim else memory.values
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

    def prepare(self, memory: Memory) -> Prepared:
        """Everything that does not depend on the query."""
        return Prepared(
            self.score.keys(split_heads(self.key(memory.keys), self.heads)),
            split_heads(self.value(memory.values), self.heads),
            memory.padded().bias(memory.keys.dtype)[:, None, None, :],
            memory.padded().lengths(),
        )

    def start(self, memory: Memory) -> Tree:
        """What is carried into the first step: nothing, unless the score or the window asks for the past."""
        if not (self.score.covers or self.window.local):
            return ()
        return Past(memory.padded().lengths().new_zeros(len(memory.mask)), memory.keys.new_zeros(memory.mask.shape))

    def forward(self, query: Tensor, prepared: Prepared, carry: Tree) -> tuple[Tensor, Tensor, Tree]:
        """query [N,T,Q] over B sentences, N = B K -> context [N,T,D], weights [N,H,T,S], what is carried on.

        The K hypotheses of a sentence are K T queries to one memory, which is therefore never repeated.
        """
        if self.score.covers and query.shape[1] > 1:
            return self._one_by_one(query, prepared, carry)
        rows, steps, _ = query.shape
        sentences = len(prepared.bias)
        folded = self.query(query).reshape(sentences, -1, query.shape[-1])  # [B,K T,Q]
        weights = self._weights(split_heads(folded, self.heads), prepared, carry, steps)  # [B,H,K T,S]
        context = self.out(join_heads(self.dropout(weights) @ prepared.values))
        unfolded = weights.view(sentences, self.heads, -1, steps, weights.shape[-1]).transpose(1, 2).flatten(0, 1)
        return context.reshape(rows, steps, -1), unfolded, carried(carry, unfolded)

    def _weights(self, query: Tensor, prepared: Prepared, carry: Tree, steps: int) -> Tensor:
        if not carry:
            return self.window(self.score(query, prepared.keys, None) + prepared.bias, query, None)
        past = cast(Past, carry)
        sentences = len(prepared.bias)
        numbers = past.steps[:, None] + torch.arange(steps, device=past.steps.device)  # [N,T]
        place = Place(numbers.view(sentences, 1, -1, 1), prepared.lengths.view(-1, 1, 1, 1))
        coverage = past.coverage.view(sentences, 1, -1, past.coverage.shape[-1]) if self.score.covers else None
        return self.window(self.score(query, prepared.keys, coverage) + prepared.bias, query, place)

    def _one_by_one(self, query: Tensor, prepared: Prepared, carry: Tree) -> tuple[Tensor, Tensor, Tree]:
        """Where a query looks depends on where those before it looked."""
        contexts, looks = [], []
        for one in query[:, :, None].unbind(1):
            context, weights, carry = self(one, prepared, carry)
            contexts.append(context)
            looks.append(weights)
        return torch.cat(contexts, 1), torch.cat(looks, 2), carry


def carried(carry: Tree, weights: Tensor) -> Tree:
    """The past with the weights [N,H,T,S] of some more queries in it."""
    if not carry:
        return carry
    past = cast(Past, carry)
    return Past(past.steps + weights.shape[2], past.coverage + weights.mean(1).sum(1))


class Cache(NamedTuple):
    """Keys and values of the positions so far, [N,H,T,D], or of the last of them, where no more can be reached."""

    keys: Tensor
    values: Tensor
    steps: Tensor  # [N], how many positions there have been


class SelfAttention(nn.Module):
    """Multi-head attention of a sequence to itself; queries, keys and values come from one product.

    reach: a position sees itself and at most so many to each side, or before it where it must not look ahead
    (restricted self-attention, Vaswani et al. 2017, section 4).
    """

    def __init__(
        self, dim: int, *, heads: Count = 4, rotary: bool = False, reach: Count | None = None, dropout: Rate = 0.0
    ):
        super().__init__()
        if dim % heads:
            raise ValueError(f"{heads} heads do not divide the width {dim}")
        if rotary and dim // heads % 2:
            raise ValueError(f"rotary positions need heads of even width, got {dim // heads}")
        self.heads = heads
        self.rotary = rotary
        self.reach = reach
        self.project = nn.Linear(dim, 3 * dim)
        self.out = nn.Linear(dim, dim)
        self.scale = (dim // heads) ** -0.5
        self.dropout = Dropout(dropout)

    def start(self, like: Tensor) -> Cache:
        """No positions yet: one empty row per row of `like`."""
        dim = self.out.in_features // self.heads
        empty = like.new_zeros(len(like), self.heads, 0, dim)
        return Cache(empty, empty, torch.zeros(len(like), dtype=torch.long, device=like.device))

    def forward(self, x: Tensor, bias: Tensor) -> tuple[Tensor, Tensor | None]:
        """Every position sees every one within reach that `bias` [N,1,1,T] allows -> y [N,T,D], weights [N,H,T,T].

        Of a sequence much longer than the reach no weights are made, unless somebody watches.
        """
        whole = Operands(*self._projected(x, 0), bias)
        if self.reach is None:
            return self._attend(whole)
        if watch.watched() or not pays_in_blocks(x.shape[1], self.reach):
            return self._attend(whole._replace(bias=within_reach(bias, self.reach)))
        context, _ = self._context(in_blocks(whole, self.reach))
        return self.out(join_heads(out_of_blocks(context, x.shape[1]))), None

    def extend(self, x: Tensor, cache: Cache) -> tuple[Tensor, Tensor, Cache]:
        """The next T positions x [N,T,D], each seeing itself and what came before -> y, weights, the longer cache."""
        past = cache.keys.shape[2]
        query, keys, values = self._projected(x, cache.steps[:, None, None])
        if past:
            keys, values = torch.cat([cache.keys, keys], 2), torch.cat([cache.values, values], 2)
        y, weights = self._attend(Operands(query, keys, values, causal_bias(query, past, self.reach)))
        kept = slice(None) if self.reach is None else slice(-self.reach, None)
        return y, weights, Cache(keys[:, :, kept], values[:, :, kept], cache.steps + x.shape[1])

    def _projected(self, x: Tensor, first: int | Tensor) -> tuple[Tensor, Tensor, Tensor]:
        query, keys, values = (split_heads(part, self.heads) for part in self.project(x).chunk(3, -1))
        if self.rotary:
            query, keys = rotate(query, first), rotate(keys, first)
        return query * self.scale, keys, values

    def _attend(self, operands: Operands) -> tuple[Tensor, Tensor]:
        context, weights = self._context(operands)
        return self.out(join_heads(context)), weights

    def _context(self, operands: Operands) -> tuple[Tensor, Tensor]:
        query, keys, values, bias = operands
        weights = (query @ keys.transpose(-1, -2) + bias).softmax(-1)
        return self.dropout(weights) @ values, weights


def causal_bias(query: Tensor, past: int, reach: int | None) -> Tensor:
    """[T,past+T], minus infinity where a position would look at a later one, or further back than its reach."""
    steps = query.shape[2]
    never = query.new_full((steps, past + steps), float("-inf"))
    if reach is None:
        return never.triu_(past + 1)
    return never.triu(past + 1) + never.tril(past - reach - 1)
