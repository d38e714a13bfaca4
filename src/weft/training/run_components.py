"""Build what a recipe names: model, objective with its context (tokenizer, token counts, frozen teacher), parallel
strategy, optimizer, schedule, average, batches and validator. Initial weights depend on the seed only.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from itertools import islice
from pathlib import Path

import torch

from weft.checkpoints.trained_model import TrainedModel, load_model
from weft.config.recipe import Recipe, TrainingConfig
from weft.core.errors import UserError
from weft.core.seeds import seed_all
from weft.data.batches import BatchLoader
from weft.data.token_cache import TokenCache
from weft.inference.ensemble import Ensemble, load_fused_language_model
from weft.inference.loader import load_word_list, make_frame_decoder
from weft.losses.objective import Objective, ObjectiveContext
from weft.models.build import build_model
from weft.models.model import Model, freeze_slots, trainable_parameters
from weft.optim.optimizers import Optimizer
from weft.optim.schedules import LearningRateSchedule
from weft.optim.weight_averages import WeightAverage
from weft.training.data_preparation import PreparedData, make_batches
from weft.training.diagnostics import RunDiagnosis, diagnose_small_corpus, diagnose_vocabulary
from weft.training.distributed import RankGroup
from weft.training.mixed_precision import DTYPES, MixedPrecisionStrategy
from weft.training.parallel_strategy import DDPStrategy, TrainingStrategy
from weft.training.progress import ProgressDisplay
from weft.training.recipe_checks import check_scores_tokens, returns_attention
from weft.training.time_budget import UNKNOWN_STEPS
from weft.training.validation import Validator


@dataclass
class TrainingComponents:
    """What the settings of a recipe name, built."""

    trained: TrainedModel
    strategy: TrainingStrategy
    optimizer: Optimizer
    schedule: LearningRateSchedule
    average: WeightAverage | None
    batches: BatchLoader
    validator: Validator | None
    diagnoses: Sequence[RunDiagnosis] = ()  # of the data, before training


def build_components(
    recipe: Recipe, data: PreparedData, ranks: RankGroup, display: ProgressDisplay
) -> TrainingComponents:
    """Build everything that training needs; raise UserError if something that the recipe names does not work."""
    settings, decoding = recipe.train, recipe.translate
    seed_all(settings.seed, "weights")
    model = build_model(recipe.model, data.source.vocabulary(), data.target.vocabulary(), joint=recipe.text.joint)
    model = model.to(ranks.device)
    freeze_slots(model, settings.freeze)
    trained = TrainedModel(model, data.source, data.target, recipe, {})
    objective = recipe.objective(make_objective_context(trained, data.train.cache, settings.seed))
    # These are loaded even if validation does not use them, so that problems are reported before training.
    ensemble = Ensemble(fused=load_fused_language_model(trained, decoding.fusion))
    word_list = load_word_list(trained, decoding.word_list)
    make_frame_decoder(trained, decoding.frame_decoder, "translate.frame_decoder")
    validator = None
    if data.valid is not None:
        pairs = list(islice(data.valid.corpus.pairs(), settings.validation.lines))
        batches = make_batches(recipe, "valid", data.valid, model, display, RankGroup(ranks.device))
        place = "train.validation.frame_decoder"
        frame_decoder = make_frame_decoder(trained, settings.validation.frame_decoder, place)
        validator = Validator(objective, batches, pairs, recipe, frame_decoder, word_list, ensemble)
    weights = recipe.data.corpus_weights()
    batches = make_batches(
        recipe,
        "train",
        data.train,
        model,
        display,
        ranks,
        noise=data.noise,
        pair_noise=data.tag_noise,
        weights=weights,
    )
    strategy = make_strategy(ranks, settings, model, objective)  # from here on, weights may be shards
    return TrainingComponents(
        trained=trained,
        strategy=strategy,
        optimizer=settings.optimizer(trainable_parameters(model).values()),
        schedule=settings.schedule(settings.steps or UNKNOWN_STEPS),
        average=settings.average() if settings.average else None,
        batches=batches,
        validator=validator,
        diagnoses=[
            *diagnose_small_corpus(recipe, data.report),
            *diagnose_vocabulary(recipe, data.report, data.train.corpus, (data.source, data.target)),
        ],
    )


def make_strategy(ranks: RankGroup, settings: TrainingConfig, model: Model, objective: Objective) -> TrainingStrategy:
    """Wrap model and objective in the chosen parallel strategy and precision."""
    dtype = DTYPES[settings.precision]
    if ranks.world_size > 1 and settings.parallel == "fsdp":
        from weft.training.fsdp import FSDPStrategy  # takes 40 MiB and half a second

        return FSDPStrategy(ranks, model, objective, dtype)
    wrap = TrainingStrategy if ranks.world_size == 1 else DDPStrategy
    if dtype == torch.float32:
        return wrap(ranks, model, objective)
    return MixedPrecisionStrategy(ranks, model, objective, dtype, wrap)


def make_objective_context(trained: TrainedModel, data: TokenCache, seed: int) -> ObjectiveContext:
    """Return what an objective may need in addition to the model that it trains."""
    decode, has_attention = trained.target_tokenizer.decode, partial(returns_attention, trained.model)

    def load(folder: str) -> Model:
        return load_frozen_model(Path(folder).expanduser(), trained).to(trained.device)

    return ObjectiveContext(decode, load, counts=data.target_counts, seed=seed, has_attention=has_attention)


def load_frozen_model(folder: Path, trained: TrainedModel) -> Model:
    """Load a model whose weights stay fixed; raise UserError if its tokenizers differ from those of `trained`."""
    other = load_model(folder)
    for side, theirs, ours in (
        ("source", other.source_tokenizer, trained.source_tokenizer),
        ("target", other.target_tokenizer, trained.target_tokenizer),
    ):
        if theirs.fingerprint != ours.fingerprint:
            raise UserError(
                f"{folder}: the {side} tokenizer of that model differs from that of this run. Tokenizers are equal if "
                f"data.train, text and train.seed are equal: use those of the recipe of {folder}."
            )
    check_scores_tokens(other.model, trained.recipe.data.max_length, folder)
    return other.model.requires_grad_(False)
