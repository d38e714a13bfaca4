"""Which pairs a lattice can say at all: a target may need more frames than its source gives."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import torch
from numpy.typing import NDArray

from weft.core.errors import UserError
from weft.data.batches import Batches, Numbers
from weft.model.model import Model
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
    there, needed = frames_there(model, split, batches), frames_needed(model, split, batches)
    wrong = np.flatnonzero(needed > there)
    if not len(wrong):
        return wrong
    places = (
        f"{split.corpus.place(int(split.cache.indices[number]))} (it needs {needed[number]} and has {there[number]})"
        for number in wrong[:SOME]
    )
    told = (
        f"{len(wrong):,} of {len(there):,} pairs of {name} have targets that need more frames than their sources give, "
        f"such as {'; '.join(places)}."
    )
    if 2 * len(wrong) > len(there):
        raise UserError(f"{told}\n{ADVICE}")
    display.say(f"{told} They are left out.")
    return wrong


@torch.no_grad()
def frames_there(model: Model, split: Split, batches: Batches) -> NDArray[np.int64]:
    """The frames that each pair's source gives [N]. Only its length decides: the model reads one of each length."""
    lengths = split.cache.lengths(np.arange(len(split.cache)))[:, 0]
    distinct, examples, which = np.unique(lengths, return_index=True, return_inverse=True)
    device = next(model.parameters()).device
    groups = np.split(examples, range(GROUP, len(distinct), GROUP))
    sources = (batches.take(group).source.to(device) for group in groups)
    counts = np.concatenate([model.frames(source).mask.sum(1).cpu().numpy() for source in sources])
    frames: NDArray[np.int64] = counts[which]
    return frames


def frames_needed(model: Model, split: Split, batches: Batches) -> NDArray[np.int64]:
    """The fewest frames for each pair's target [N]."""
    if model.lattice is None:
        return np.zeros(len(split.cache), np.int64)
    chunks = (model.lattice.needs(batches.targets(numbers)) for numbers in in_chunks(len(split.cache)))
    return np.concatenate([chunk.numpy() for chunk in chunks])


def in_chunks(count: int) -> Iterator[Numbers]:
    for first in range(0, count, CHUNK):
        yield np.arange(first, min(first + CHUNK, count))
