"""Which pairs a lattice can say at all: a target may need more frames than its source gives."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import torch
from numpy.typing import NDArray

from weft.core.errors import UserError
from weft.data.batches import Batches
from weft.data.mixing import Numbers
from weft.model.model import Model
from weft.model.roles import Lattice
from weft.training.prepare import Split
from weft.training.progress import Display

CHUNK = 4096  # targets looked at together
GROUP = 8  # sources of about the same length read together
SOME = 3  # places that are told
ADVICE = (
    "These are most pairs, so this model could not learn them: raise model.lattice.upsample (frames for each position "
    "of the source), if its type has that; take longer target pieces; or take a model with a decoder."
)


def too_long(model: Model, name: str, split: Split, batches: Batches, display: Display) -> Numbers:
    """The pairs, by their numbers in the cache, whose targets have no place in the frames; what they are is told.

    Where most are such, the model is not made for the data, and the run stops.
    """
    if model.lattice is None:
        return np.zeros(0, np.int64)
    frames = frames_by_length(model, split, batches)
    found = [wrong_among(numbers, model.lattice, frames, split, batches) for numbers in in_chunks(len(split.cache))]
    wrong, needed, there = (np.concatenate(column) for column in zip(*found, strict=True))
    if not len(wrong):
        return wrong
    places = (
        f"{split.corpus.place(int(split.cache.indices[number]))} (it needs {needs} and has {has})"
        for number, needs, has in zip(wrong[:SOME], needed, there, strict=False)
    )
    told = (
        f"{len(wrong):,} of {len(split.cache):,} pairs of {name} have targets that need more frames than their sources "
        f"give, such as {'; '.join(places)}."
    )
    if 2 * len(wrong) > len(split.cache):
        raise UserError(f"{told}\n{ADVICE}")
    display.say(f"{told} They are left out.")
    return wrong


@torch.no_grad()
def frames_by_length(model: Model, split: Split, batches: Batches) -> NDArray[np.int64]:
    """The frames that a source of each length gives. Only its length decides: the model reads one of each length."""
    examples: dict[int, int] = {}
    for numbers in in_chunks(len(split.cache)):
        lengths, places = np.unique(split.cache.lengths(numbers)[:, 0], return_index=True)
        examples = dict(zip(lengths.tolist(), numbers[places].tolist(), strict=True)) | examples
    device = next(model.parameters()).device
    frames = np.zeros(max(examples) + 1, np.int64)
    for group in grouped(sorted(examples), GROUP):
        source = batches.take(np.array([examples[length] for length in group])).source.to(device)
        frames[group] = model.frames(source).mask.sum(1).cpu().numpy()
    return frames


def wrong_among(
    numbers: Numbers, lattice: Lattice, frames: NDArray[np.int64], split: Split, batches: Batches
) -> tuple[Numbers, NDArray[np.int64], NDArray[np.int64]]:
    """Those of some pairs whose targets need more frames than there are: their numbers, what they need and have."""
    needed = lattice.needs(batches.targets(numbers)).numpy()
    there = frames[split.cache.lengths(numbers)[:, 0]]
    wrong = np.flatnonzero(needed > there)
    return numbers[wrong], needed[wrong], there[wrong]


def grouped(items: Sequence[int], size: int) -> Iterator[list[int]]:
    for first in range(0, len(items), size):
        yield list(items[first : first + size])


def in_chunks(count: int) -> Iterator[Numbers]:
    for first in range(0, count, CHUNK):
        yield np.arange(first, min(first + CHUNK, count))
