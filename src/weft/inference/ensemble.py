"""Ensembles of models with one target vocabulary (mean of probabilities or log-probabilities), and shallow fusion
with an external language model: log p + weight log p_LM (Gulcehre et al. 2015).
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, NamedTuple, TypeAlias

import torch
from torch import Tensor

from weft.checkpoints.trained_model import TrainedModel, load_model
from weft.config.inference_config import FusionConfig
from weft.core.errors import UserError
from weft.core.formatting import pluralize
from weft.core.padded import Padded
from weft.core.special_tokens import EOS
from weft.core.state import State, StepFunction, StepOutput
from weft.data.batches import RowArray, pad_rows
from weft.decoding.fusion import (
    CombineLogProbs,
    WeightedStep,
    combine_steps,
    join_states,
    mean_log_probabilities,
    mean_probabilities,
    weighted_sum,
)
from weft.decoding.search import LanguageModel
from weft.inference.step_functions import model_steps
from weft.models.model import Model
from weft.text.tokenizer import Tokenizer

EnsembleMean: TypeAlias = Literal["probabilities", "log-probabilities"]
ENSEMBLE_MEANS: Mapping[EnsembleMean, CombineLogProbs] = {
    "probabilities": mean_probabilities,
    "log-probabilities": mean_log_probabilities,
}


class EnsembleOptions(NamedTuple):
    """The models that join another one in an ensemble. weights: of that model, then of these (None: all equal)."""

    folders: tuple[Path, ...] = ()
    weights: tuple[float, ...] | None = None
    mean: EnsembleMean = "probabilities"


class FusedLanguageModel(NamedTuple):
    """A language model, the weight of its log-probabilities, and the most tokens that it has positions for."""

    language_model: LanguageModel
    weight: float
    max_length: int | None


@dataclass(frozen=True)
class Ensemble:
    """What is combined with a translator's own model at every step: the other models of an ensemble, a language model.

    All models have the same target tokens; each reads the source with its own tokenizer. weights: of the own model,
    then of the others. The score of a step is log mean_i(p_i) + weight log p_LM.
    """

    others: tuple[TrainedModel, ...] = ()
    weights: tuple[float, ...] = (1.0,)
    mean: EnsembleMean = "probabilities"
    fused: FusedLanguageModel | None = None

    def max_target_length(self) -> int | None:
        """The most output tokens that all of them have positions for (None: any number)."""
        limits = [other.max_target_length for other in self.others]
        limits.append(None if self.fused is None else self.fused.max_length)
        return min((limit for limit in limits if limit is not None), default=None)

    def combine(
        self, own: TrainedModel, step: StepFunction, state: State, rows: Sequence[Sequence[RowArray]]
    ) -> tuple[StepFunction, State]:
        """The step function of all models, and its initial state. step, state: of the own model for this batch.
        rows: the source of each sentence as each of the other models reads it.
        """
        if self.others:
            parts, states = [WeightedStep(step, self.weights[0])], [state]
            own_encoding = own.source_tokenizer.fingerprint, own.max_source_length
            for number, (other, weight) in enumerate(zip(self.others, self.weights[1:], strict=True)):
                source = pad_rows([row[number] for row in rows]).to(own.device)
                other_step, other_state = model_steps(other.model, source, other.recipe.translate.ctc_weight)
                encoding = other.source_tokenizer.fingerprint, other.max_source_length
                parts.append(WeightedStep(other_step, weight, same_positions=encoding == own_encoding))
                states.append(other_state)
            step, state = combine_steps(parts, ENSEMBLE_MEANS[self.mean]), join_states(*states)
        if self.fused is not None:
            language_model, weight, _ = self.fused
            copies = torch.zeros(len(rows), dtype=torch.long, device=own.device)
            parts = [WeightedStep(step, 1.0), WeightedStep(language_model.step, weight)]
            step = combine_steps(parts, weighted_sum)
            state = join_states(state, language_model.start.select(copies, copies))
        return step, state


SINGLE_MODEL = Ensemble()


def ensemble_weights(options: EnsembleOptions) -> tuple[float, ...]:
    """A weight for each model, the own one first; raise UserError if they do not fit."""
    if options.mean not in ENSEMBLE_MEANS:
        raise UserError(f"mean: got {options.mean!r}, expected one of {', '.join(ENSEMBLE_MEANS)}")
    count = 1 + len(options.folders)
    weights = (1.0,) * count if options.weights is None else options.weights
    if len(weights) != count:
        numbers = pluralize(len(weights), "number")
        raise UserError(f"weights: got {numbers} for {count} models: give one for each, in the order of the models")
    if not all(math.isfinite(weight) and weight > 0 for weight in weights):
        raise UserError(f"weights: got {', '.join(f'{weight:g}' for weight in weights)}: each should be positive")
    return weights


def load_fused_language_model(trained: TrainedModel, fusion: FusionConfig) -> FusedLanguageModel | None:
    """The language model of `translate.fusion` for this model; None if there is none, or its weight is 0."""
    if fusion.model is None or fusion.weight == 0:
        return None
    try:
        folder = Path(fusion.model).expanduser()
        language, ids = load_external_language_model(folder, trained.target_tokenizer, trained.device)
    except UserError as error:
        raise UserError(f"translate.fusion.model: {error}") from error
    return FusedLanguageModel(language_model_steps(language.model, ids), fusion.weight, language.max_target_length)


def load_external_language_model(folder: Path, target: Tokenizer, device: torch.device) -> tuple[TrainedModel, Tensor]:
    """Load a language model whose vocabulary contains all target tokens, and the ids [V] of these in it."""
    trained, vocabulary = load_model(folder), target.vocabulary()
    if not trained.model.is_language_model:
        raise UserError(f"{folder} is not a language model. Train one with: weft train language-model")
    theirs = {token: number for number, token in enumerate(trained.target_tokenizer.vocabulary())}
    missing = [token for token in vocabulary if token not in theirs]
    if missing:
        some = ", ".join(missing[:5]) + (" ..." if len(missing) > 5 else "")
        raise UserError(
            f"the language model in {folder} lacks {len(missing)} of the tokens of this model ({some}): train it on "
            "the target side of the same data, with the same text settings; this model with text.tag_tokens: false"
        )
    there, here = trained.target_tokenizer.order, target.order
    if there != here:
        raise UserError(
            f"the language model in {folder} generates lines {there}, but this model {here}: train it with "
            f"text.target_order: {here}"
        )
    trained.model.to(device)
    return trained, torch.tensor([theirs[token] for token in vocabulary], device=device)


def language_model_steps(model: Model, ids: Tensor) -> LanguageModel:
    """The step function and initial state of a language model, over the target tokens. ids [V]: their ids in it."""
    empty_source = Padded.from_rows([[EOS]]).to(ids.device)

    def step(tokens: Tensor, state: State) -> tuple[StepOutput, State]:
        output, after = model.step(ids[tokens.to(ids.device)], state)
        return StepOutput(output.log_probs[:, ids], output.attention), after

    with torch.no_grad():
        return LanguageModel(step, model.start(model.encode(empty_source)))
