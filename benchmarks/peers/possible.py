"""What is possible: how fast this machine does the products of matrices that a Transformer's step is made of.

A step cannot be faster than its products, each computed at the machine's own rate, with nothing between them. So the
share of the possible is the products' time over the step's.
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

BLOCK = 512  # rows; a large result is sometimes faster in parts that stay in the processor's cache
REPEATS = 3


class Product(NamedTuple):
    """[batch,rows,inner] x [batch,inner,columns] and both its gradients, so many times in a step."""

    times: int
    rows: int
    inner: int
    columns: int
    batch: int = 1

    @property
    def operations(self) -> int:
        """A multiplication and an addition each; the gradients cost as much again, each."""
        return 3 * 2 * self.times * self.batch * self.rows * self.inner * self.columns


class Step(NamedTuple):
    """A batch without padding: so many sentences, all of the mean lengths, end marks included."""

    sentences: int
    source: int
    target: int

    @property
    def tokens(self) -> int:
        """Of the target."""
        return self.sentences * self.target


class Possible(NamedTuple):
    """What the products of a step alone would reach."""

    tokens_per_second: float  # of the target
    gigaflops: float  # 10^9 operations a second


def mean_step(pieces: Pieces, batch_tokens: int) -> Step:
    source, target = round(pieces.source_tokens / pieces.pairs), round(pieces.target_tokens / pieces.pairs)
    return Step(max(1, batch_tokens // max(source, target)), source, target)


def products(shape: Transformer, vocabulary: int, step: Step) -> list[Product]:
    """Of all layers and the output layer: Vaswani et al. 2017, section 3."""
    sources, targets = step.sentences * step.source, step.sentences * step.target
    layers, dim, hidden = shape.layers, shape.dim, shape.hidden
    return [
        *(one for rows in (sources, targets) for one in layer(layers, rows, dim, hidden)),
        Product(2 * layers, targets, dim, dim),  # the decoder's queries to the memory, and what it makes of the answers
        Product(layers, sources, dim, 2 * dim),  # the memory's keys and values
        *looks(shape, step.sentences, step.source, step.source),
        *looks(shape, step.sentences, step.target, step.target),
        *looks(shape, step.sentences, step.target, step.source),
        Product(1, targets, dim, vocabulary),
    ]


def layer(layers: int, rows: int, dim: int, hidden: int) -> list[Product]:
    """Queries, keys and values at once; what is made of the heads; the position-wise network."""
    sizes = ((dim, 3 * dim), (dim, dim), (dim, hidden), (hidden, dim))
    return [Product(layers, rows, inner, columns) for inner, columns in sizes]


def looks(shape: Transformer, sentences: int, queries: int, keys: int) -> list[Product]:
    """Scores, and the values they weigh, of each head of each sentence."""
    batch, width = sentences * shape.heads, shape.dim // shape.heads
    return [Product(shape.layers, queries, width, keys, batch), Product(shape.layers, queries, keys, width, batch)]


# --- Measurement ---------------------------------------------------------------------------------------------------


def measure(parts: list[Product], step: Step, precision: torch.dtype) -> Possible:
    """The sum of what the products take, each timed by itself, whole or in blocks, whichever is faster."""
    seconds = sum(product.times * least_seconds(product, precision) for product in parts)
    operations = sum(product.operations for product in parts)
    return Possible(step.tokens / seconds, operations / seconds / 1e9)


@torch.inference_mode()
def least_seconds(product: Product, precision: torch.dtype) -> float:
    """Of one product and its two gradients, into memory that is there already."""
    _, rows, inner, columns, batch = product
    lead = (batch,) if batch > 1 else ()
    x, weight = (torch.randn(*lead, *size).to(precision) for size in ((rows, inner), (inner, columns)))
    places = Places(torch.empty(*lead, rows, columns, dtype=precision), torch.empty_like(x), torch.empty_like(weight))
    seconds = least(partial(whole, x, weight, places))
    if batch > 1 or rows <= BLOCK:
        return seconds
    return min(seconds, least(partial(in_blocks, x, weight, places)))


def least(work: Callable[[], None]) -> float:
    """Seconds of the fastest of a few, after one to warm up."""
    work()
    times = []
    for _ in range(REPEATS):
        started = time.perf_counter()
        work()
        times.append(time.perf_counter() - started)
    return min(times)


class Places(NamedTuple):
    """Where results go. The first serves as its own gradient: what stands in it does not matter to the time."""

    y: Tensor
    of_x: Tensor
    of_weight: Tensor


def whole(x: Tensor, weight: Tensor, places: Places) -> None:
    """y = x W, then dx = dy W' and dW = x' dy."""
    torch.matmul(x, weight, out=places.y)
    torch.matmul(places.y, weight.mT, out=places.of_x)
    torch.matmul(x.mT, places.y, out=places.of_weight)


def in_blocks(x: Tensor, weight: Tensor, places: Places) -> None:
    """The same, some rows at a time, with room for the results of these alone."""
    for first in range(0, len(x), BLOCK):
        rows = x[first : first + BLOCK]
        y = places.y[: len(rows)]
        torch.mm(rows, weight, out=y)
        torch.mm(y, weight.mT, out=places.of_x[first : first + BLOCK])
        places.of_weight.addmm_(rows.mT, y)
