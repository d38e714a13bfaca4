"""Do the frames of a lattice have room for the targets?"""

from weft.core.errors import UserError
from weft.core.frames import Frames
from weft.data.batches import Batch
from weft.model.model import Model


def check_room(model: Model, frames: Frames, batch: Batch) -> None:
    """A target without room has the probability 0: the loss would be infinite."""
    if model.lattice is None:
        return
    needed, there = model.lattice.needs(batch.target), frames.mask.sum(1)
    if (needed > there).any():
        row = int((needed > there).nonzero()[0])
        raise UserError(
            f"pair {batch.indices[row] + 1} has no room in the frames: its target needs {needed[row]}, and its source "
            f"gives {there[row]}. Leave such pairs out; raise model.lattice.upsample, if its type has that; or take a "
            "model with a decoder"
        )
