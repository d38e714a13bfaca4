"""Everything a user can write down about a model and its training."""

from dataclasses import dataclass, field

from weft.core.types import Count, Make, Positive, Share, Whole
from weft.data.settings import Data
from weft.model.build import Slots
from weft.objective.cross_entropy import CrossEntropy
from weft.objective.role import Objective
from weft.optim.averages import Average
from weft.optim.optimisers import Adam, Optimiser
from weft.optim.schedules import InverseSquareRoot, Schedule
from weft.search.beam import Beam
from weft.search.readings.best_path import BestPath
from weft.search.role import Reading, Search
from weft.text.settings import Text


@dataclass(frozen=True, kw_only=True)
class Validation:
    """How a run is watched. `choose` names what decides which weights are the best."""

    every: Count = 500  # steps
    lines: Whole = 1000  # at most so many are translated; loss and accuracy use all
    metrics: tuple[str, ...] = ("bleu", "chrf")
    choose: str = "bleu"  # loss, accuracy or one of the metrics
    search: Make[Search] = Beam
    reading: Make[Reading] = BestPath  # of a model without a decoder
    patience: Count | None = None  # stop after so many validations without a better one


@dataclass(frozen=True, kw_only=True)
class Train:
    """How weights are found. The length of the run is given in steps, or in minutes: see weft/training/budget.py."""

    seed: int = 1
    start: str | None = None  # a run or model folder whose weights and tokenizers the run begins with
    steps: Count | None = 10_000  # null: as many as fit into `minutes`
    minutes: Positive | None = None
    batch_tokens: Count = 4096  # a side, padding included
    accumulate: Count = 1  # batches an update
    optimiser: Make[Optimiser] = Adam
    schedule: Make[Schedule] = InverseSquareRoot
    clip: Positive | None = 1.0  # largest norm of the gradient
    average: Make[Average] | None = None
    validation: Validation = field(default_factory=Validation)
    checkpoint_steps: Count = 1000
    checkpoint_minutes: Positive = 10.0
    log_every: Count = 50  # steps


@dataclass(frozen=True, kw_only=True)
class Translate:
    """How a trained model is used: its steps are searched, or, if it has no decoder, its frames are read.

    An output may have `length_factor` x source tokens + `length_extra` tokens. `window` lines are read before the first
    is translated, so that lines of one length can go together (of pictures, a few dozen at most); a program that waits
    for each answer sets it to 1.
    """

    search: Make[Search] = Beam
    reading: Make[Reading] = BestPath
    ctc_weight: Share = 0.0  # of a ctc lattice beside a decoder, in the score of every step
    length_factor: Positive = 2.0
    length_extra: Whole = 20
    batch_tokens: Count = 4096
    window: Count = 2048


@dataclass(frozen=True, kw_only=True)
class Recipe:
    """A configuration file is one of these."""

    data: Data = field(default_factory=Data)
    text: Text = field(default_factory=Text)
    model: Slots = field(default_factory=Slots)
    objective: Make[Objective] = CrossEntropy
    train: Train = field(default_factory=Train)
    translate: Translate = field(default_factory=Translate)
