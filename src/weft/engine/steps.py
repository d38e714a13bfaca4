"""A model that has read a batch of lines, as a step function with its first state: what searches and scores need."""

from weft.core.padded import Padded
from weft.core.state import State, Step
from weft.model.model import Model
from weft.search.mixing import Part, mixed, together, weighted_sum
from weft.search.paths import start_paths, step_paths
from weft.search.positions import start_positions, step_positions
from weft.store.model_folder import Trained


def steps_of(model: Model, source: Padded, ctc_weight: float) -> tuple[Step, State]:
    """The decoder's steps, mixed with those of a ctc lattice beside it if that has a weight; or those of the frames."""
    memory = model.encode(source)
    if not model.has_decoder:
        frames, blank = model.frames_of(memory), model.lattice is not None and model.lattice.blank
        return (step_paths, start_paths(frames)) if blank else (step_positions, start_positions(frames))
    start = model.start(memory)
    if not ctc_weight:
        return model.step, start
    parts = [Part(model.step, 1 - ctc_weight), Part(step_paths, ctc_weight)]
    return mixed(parts, weighted_sum), together(start, start_paths(model.frames_of(memory)))


def source_limit(trained: Trained) -> int:
    """The most pieces of a line that the model reads: what it was trained on, if its positions reach so far."""
    model, known = trained.model, trained.recipe.data.max_length
    placed = [model.source.limit, None if model.lattice is None else model.lattice.limit]
    return min([known, *(limit - 1 for limit in placed if limit is not None)])


def target_limit(trained: Trained) -> int | None:
    """The most pieces of an output that the model has positions for (None: any number)."""
    limit = trained.model.target.limit
    return None if limit is None else limit - 1
