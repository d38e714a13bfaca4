"""Upper bound of training speed: the time of the matrix products of a Transformer training step on this machine.

A step cannot be faster than its matrix products alone. The share of the limit that a toolkit reaches is the time of the
products over the time of its step.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import torch
from benchmarks.peers.data import Pieces
from benchmarks.peers.shapes import Transformer
from torch import Tensor

BLOCK = 512  # rows; a large product is sometimes faster in blocks that fit the cache
REPEATS = 3


class Matmul(NamedTuple):
    """[batch,rows,inner] x [batch,inner,columns] with both gradients, `times` per step."""

    times: int
    rows: int
    inner: int
    columns: int
    batch: int = 1

    @property
    def operations(self) -> int:
        """Multiplications and additions; each of the two gradients costs as much as the forward product."""
        return 3 * 2 * self.times * self.batch * self.rows * self.inner * self.columns


class Step(NamedTuple):
    """A batch without padding: sentences of mean length, EOS included."""

    sentences: int
    source: int
    target: int

    @property
    def tokens(self) -> int:
        """Return the number of target tokens."""
        return self.sentences * self.target


class SpeedLimit(NamedTuple):
    """Speed of the matrix products of a step alone."""

    tokens_per_second: float  # target tokens
    gigaflops: float  # 10^9 operations per second


def mean_step(pieces: Pieces, batch_tokens: int) -> Step:
    source, target = round(pieces.source_tokens / pieces.pairs), round(pieces.target_tokens / pieces.pairs)
    return Step(max(1, batch_tokens // max(source, target)), source, target)


def step_matmuls(shape: Transformer, vocabulary: int, step: Step) -> list[Matmul]:
    """Return the matrix products of all layers and the output layer (Vaswani et al. 2017, section 3)."""
    sources, targets = step.sentences * step.source, step.sentences * step.target
    layers, dim, hidden = shape.layers, shape.dim, shape.hidden
    return [
        *(matmul for rows in (sources, targets) for matmul in layer_matmuls(layers, rows, dim, hidden)),
        Matmul(2 * layers, targets, dim, dim),  # cross-attention: queries and output projection
        Matmul(layers, sources, dim, 2 * dim),  # cross-attention: keys and values
        *attention_matmuls(shape, step.sentences, step.source, step.source),
        *attention_matmuls(shape, step.sentences, step.target, step.target),
        *attention_matmuls(shape, step.sentences, step.target, step.source),
        Matmul(1, targets, dim, vocabulary),
    ]


def layer_matmuls(layers: int, rows: int, dim: int, hidden: int) -> list[Matmul]:
    """Self-attention projections (queries, keys and values at once; output) and the feed-forward network."""
    sizes = ((dim, 3 * dim), (dim, dim), (dim, hidden), (hidden, dim))
    return [Matmul(layers, rows, inner, columns) for inner, columns in sizes]


def attention_matmuls(shape: Transformer, sentences: int, queries: int, keys: int) -> list[Matmul]:
    """Attention scores and weighted values, for each head of each sentence."""
    batch, width = sentences * shape.heads, shape.dim // shape.heads
    return [Matmul(shape.layers, queries, width, keys, batch), Matmul(shape.layers, queries, keys, width, batch)]


# --- Measurement ---------------------------------------------------------------------------------------------------


def measure(matmuls: list[Matmul], step: Step, precision: torch.dtype) -> SpeedLimit:
    """Time each product alone, whole or in blocks, whichever is faster, and add up the times."""
    seconds = sum(matmul.times * least_seconds(matmul, precision) for matmul in matmuls)
    operations = sum(matmul.operations for matmul in matmuls)
    return SpeedLimit(step.tokens / seconds, operations / seconds / 1e9)


@torch.inference_mode()
def least_seconds(matmul: Matmul, precision: torch.dtype) -> float:
    """Return the seconds of one product and its two gradients, with preallocated outputs."""
    _, rows, inner, columns, batch = matmul
    lead = (batch,) if batch > 1 else ()
    x, weight = (torch.randn(*lead, *size).to(precision) for size in ((rows, inner), (inner, columns)))
    buffers = Buffers(torch.empty(*lead, rows, columns, dtype=precision), torch.empty_like(x), torch.empty_like(weight))
    seconds = fastest_run(partial(run_whole, x, weight, buffers))
    if batch > 1 or rows <= BLOCK:
        return seconds
    return min(seconds, fastest_run(partial(run_in_blocks, x, weight, buffers)))


def fastest_run(work: Callable[[], None]) -> float:
    """Return the seconds of the fastest of REPEATS runs, after one warm-up run."""
    work()
    times = []
    for _ in range(REPEATS):
        started = time.perf_counter()
        work()
        times.append(time.perf_counter() - started)
    return min(times)


class Buffers(NamedTuple):
    """Output buffers. `y` also serves as its own gradient, since its values do not affect the time."""

    y: Tensor
    dx: Tensor
    dweight: Tensor


def run_whole(x: Tensor, weight: Tensor, buffers: Buffers) -> None:
    """y = x W, then dx = dy W' and dW = x' dy."""
    torch.matmul(x, weight, out=buffers.y)
    torch.matmul(buffers.y, weight.mT, out=buffers.dx)
    torch.matmul(x.mT, buffers.y, out=buffers.dweight)


def run_in_blocks(x: Tensor, weight: Tensor, buffers: Buffers) -> None:
    """Compute the same in blocks of rows, with a buffer for one block of `y`."""
    for first in range(0, len(x), BLOCK):
        rows = x[first : first + BLOCK]
        y = buffers.y[: len(rows)]
        torch.mm(rows, weight, out=y)
        torch.mm(y, weight.mT, out=buffers.dx[first : first + BLOCK])
        buffers.dweight.addmm_(rows.mT, y)
