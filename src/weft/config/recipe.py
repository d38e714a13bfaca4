"""Everything a user can write down about a model and its training."""

from dataclasses import dataclass, field
from typing import Annotated, Literal

from annotated_types import Ge

from weft.core.types import Count, Make, Positive, Share, Whole
from weft.data.settings import Data
from weft.metric.costs import CostName
from weft.model.build import Slots
from weft.model.freezing import Slot
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
    keep_moments: bool = False  # of the optimiser, from the newest checkpoint of the run folder `start`
    freeze: tuple[Slot, ...] = ()  # parts of the model that stay as they are
    steps: Count | None = 10_000  # null: as many as fit into `minutes`
    minutes: Positive | None = None
    precision: Literal["auto", "float32", "bfloat16", "float16"] = "auto"  # weights are kept in float32 in any case
    parallel: Literal["ddp", "fsdp"] = "ddp"  # with several processes: each has a copy of the model, or a share of it
    batch_tokens: Count = 4096  # a side, padding included, over all processes
    accumulate: Count = 1  # batches an update
    optimiser: Make[Optimiser] = Adam
    schedule: Make[Schedule] = InverseSquareRoot
    clip: Positive | None = 1.0  # largest norm of the gradient
    average: Make[Average] | None = None
    validation: Validation = field(default_factory=Validation)
    checkpoint_steps: Count = 1000
    checkpoint_minutes: Positive = 10.0
    log_every: Count = 50  # steps
    tensorboard: bool = False  # whether the log is also written as event files, in the folder tensorboard of the run


@dataclass(frozen=True, kw_only=True)
class Fusion:
    """A language model beside a decoder: each step's score is log p + weight log p_language.

    Shallow fusion (Gulcehre et al. 2015). model: a run or model folder, of a language model that knows all target
    pieces (null: there is none); what is relative starts from the current folder.
    """

    model: str | None = None
    weight: Annotated[float, Ge(0.0)] = 0.2


@dataclass(frozen=True, kw_only=True)
class MinimumRisk:
    """Minimum Bayes risk: of so many `samples`, the one that costs least beside the others (weft/engine/risk.py).

    0: outputs are searched. They are drawn as `translate.search` says, if that is of the type sampling. cost: a name of
    weft/metric/costs.py.
    """

    samples: Whole = 0
    cost: CostName = "chrf"


@dataclass(frozen=True, kw_only=True)
class Translate:
    """How a trained model is used: its steps are searched, or, if it has no decoder, its frames are read.

    An output may have `length_factor` x source tokens + `length_extra` tokens, and has at least `least_factor` x source
    tokens + `least_extra`. No `block_repeats` tokens in a row come twice in it (0: they may). `window` lines are read
    before the first is translated, so that lines of one length can go together (of pictures, a few dozen at most); a
    program that waits for each answer sets it to 1. shortlist: the tokens of an output are chosen from those that
    belong to the source's, as `weft shortlist` has learned them.
    """

    search: Make[Search] = Beam
    mbr: MinimumRisk = field(default_factory=MinimumRisk)
    reading: Make[Reading] = BestPath
    ctc_weight: Share = 0.0  # of a ctc lattice beside a decoder, in the score of every step
    fusion: Fusion = field(default_factory=Fusion)
    words: str | None = None  # a file with a word a line, of which a decoder's outputs are made
    length_factor: Positive = 2.0
    length_extra: Whole = 20
    least_factor: Annotated[float, Ge(0.0)] = 0.0
    least_extra: Whole = 0
    block_repeats: Whole = 0
    shortlist: bool = False
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
