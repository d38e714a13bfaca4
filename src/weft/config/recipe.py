"""The recipe: every setting of a model, its data and its training. Imports all losses and optimizers."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from weft.config.inference_config import InferenceConfig
from weft.config.overrides import read_config
from weft.config.recipe_catalog import find_recipe
from weft.config.yaml_files import PlainData, read_yaml
from weft.core.setting_types import Factory, NonNegativeInt, PositiveFloat, PositiveInt
from weft.decoding.beam import BeamSearch
from weft.decoding.ctc_decoder import BestPathDecoder
from weft.decoding.search import FrameDecoder, Search
from weft.losses.cross_entropy import CrossEntropyLoss
from weft.losses.objective import Objective
from weft.models.model import Slot
from weft.optim.optimizers import Adam, Optimizer
from weft.optim.schedules import InverseSquareRootSchedule, LearningRateSchedule
from weft.optim.weight_averages import WeightAverage


@dataclass(frozen=True, kw_only=True)
class ValidationConfig:
    """How a run is validated."""

    every: PositiveInt = 500  # steps
    lines: NonNegativeInt = 1000  # number of lines to translate at most; loss and accuracy use all
    metrics: tuple[str, ...] = ("bleu", "chrf")
    best_metric: str = "bleu"  # decides which weights are the best: loss, accuracy or one of the metrics
    search: Factory[Search] = BeamSearch
    frame_decoder: Factory[FrameDecoder] = BestPathDecoder  # of a model without a decoder
    patience: PositiveInt | None = None  # stop after this many validations without an improvement
    at_start: bool = False  # score the initial weights too, as step 0; they are the best until others are better


@dataclass(frozen=True, kw_only=True)
class TrainingConfig:
    """How a model is trained. The length of the run is given in steps or in minutes: see training/time_budget.py."""

    seed: int = 1
    initial_model: str | None = None  # a run or model folder whose weights and tokenizers the run starts with
    keep_optimizer: bool = False  # start with the optimizer state of the last checkpoint of the run `initial_model`
    freeze: tuple[Slot, ...] = ()  # slots of the model that are not trained
    steps: PositiveInt | None = 10_000  # null: as many as fit into `minutes`
    minutes: PositiveFloat | None = None
    precision: Literal["auto", "float32", "bfloat16", "float16"] = "auto"  # of the computation; weights are float32
    parallel: Literal["ddp", "fsdp"] = "ddp"  # with several processes: each has a copy of the model, or a shard
    batch_tokens: PositiveInt = 4096  # of a side, padding included, over all processes
    gradient_accumulation: PositiveInt = 1  # batches per update
    optimizer: Factory[Optimizer] = Adam
    schedule: Factory[LearningRateSchedule] = InverseSquareRootSchedule
    clip_norm: PositiveFloat | None = 1.0  # largest norm of the gradient
    average: Factory[WeightAverage] | None = None
    validation: ValidationConfig = field(default_factory=ValidationConfig)
    checkpoint_steps: PositiveInt = 1000
    checkpoint_minutes: PositiveFloat = 10.0
    log_every: PositiveInt = 50  # steps
    tensorboard: bool = False  # also write the log as event files, in the run's folder tensorboard


@dataclass(frozen=True, kw_only=True)
class Recipe(InferenceConfig):
    """The content of a recipe file."""

    objective: Factory[Objective] = CrossEntropyLoss
    train: TrainingConfig = field(default_factory=TrainingConfig)


def load_recipe(source: Path | dict[str, PlainData], overrides: Sequence[str] = ()) -> Recipe:
    """Read a YAML file or a recipe of the package, or plain data, with overrides such as `model.encoder.layers=6`."""
    node = read_yaml(find_recipe(source)) if isinstance(source, Path) else source
    return read_config(node, Recipe, overrides)
