"""Models that translate as one: an ensemble, and a language model beside it."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, NamedTuple, TypeAlias

import torch

from weft.config.recipe import Fusion
from weft.core.errors import UserError
from weft.core.state import State, Step
from weft.data.padding import Row, pad
from weft.engine.reading import language_of, load_language_model
from weft.engine.steps import source_limit, steps_of, target_limit
from weft.search.mixing import Mix, Part, mean_log_probabilities, mean_probabilities, mixed, together, weighted_sum
from weft.search.role import Language
from weft.store.model_folder import Trained

Mean: TypeAlias = Literal["probabilities", "log-probabilities"]
MEANS: Mapping[Mean, Mix] = {"probabilities": mean_probabilities, "log-probabilities": mean_log_probabilities}


class Joining(NamedTuple):
    """Which models join another in an ensemble. weights: its own first, then theirs (None: all count the same)."""

    folders: tuple[Path, ...] = ()
    weights: tuple[float, ...] | None = None
    mean: Mean = "probabilities"


class Fused(NamedTuple):
    """A language model, what its log-probabilities are multiplied by, and the most tokens it has positions for."""

    language: Language
    weight: float
    limit: int | None


class OtherRows(NamedTuple):
    """A line as the other models read it, a row for each; cut: whether it was longer than one of them reads."""

    rows: tuple[Row, ...]
    cut: bool


@dataclass(frozen=True)
class Beside:
    """What speaks beside a translator's own model, at every step: the other models of an ensemble, a language model.

    Each model reads a line with its own source tokenizer; all say the same target pieces. weights: of the own model and
    of the others. The language model is added to what the ensemble says: log p + weight log p_language (shallow fusion,
    Gulcehre et al. 2015).
    """

    others: tuple[Trained, ...] = ()
    weights: tuple[float, ...] = (1.0,)
    mean: Mean = "probabilities"
    fused: Fused | None = None

    def read(self, lines: Sequence[str]) -> list[OtherRows]:
        """The lines in the pieces of the other models."""
        limits = [source_limit(other) for other in self.others]
        columns = [other.source_tokenizer.encode_rows(lines).split() for other in self.others]
        return [_cut([column[number] for column in columns], limits) for number in range(len(lines))]

    def target_limit(self) -> int | None:
        """The most tokens of an output that all of them have positions for (None: any number)."""
        limits = [target_limit(other) for other in self.others]
        known = [limit for limit in [*limits, None if self.fused is None else self.fused.limit] if limit is not None]
        return min(known, default=None)

    def steps(self, own: Trained, begun: tuple[Step, State], others: Sequence[OtherRows]) -> tuple[Step, State]:
        """All of them as one step function, with its first state; begun: the own model's, for as many lines."""
        step, state = self._ensemble(own, begun, others)
        if self.fused is None:
            return step, state
        language, weight, _ = self.fused
        every = torch.zeros(len(others), dtype=torch.long, device=next(own.model.parameters()).device)
        parts = [Part(step, 1.0), Part(language.step, weight)]
        return mixed(parts, weighted_sum), together(state, language.start.select(every, every))

    def _ensemble(self, own: Trained, begun: tuple[Step, State], others: Sequence[OtherRows]) -> tuple[Step, State]:
        if not self.others:
            return begun
        device = next(own.model.parameters()).device
        parts, states = [Part(begun[0], self.weights[0])], [begun[1]]
        for number, (other, weight) in enumerate(zip(self.others, self.weights[1:], strict=True)):
            source = pad([line.rows[number] for line in others]).to(device)
            step, state = steps_of(other.model, source, other.recipe.translate.ctc_weight)
            parts.append(Part(step, weight, same_positions=_reading(other) == _reading(own)))
            states.append(state)
        return mixed(parts, MEANS[self.mean]), together(*states)


ALONE = Beside()


def _reading(trained: Trained) -> tuple[str, int]:
    """Equal for models that read the same pieces of every line."""
    return trained.source_tokenizer.fingerprint, source_limit(trained)


def _cut(rows: Sequence[Row], limits: Sequence[int]) -> OtherRows:
    both = list(zip(rows, limits, strict=True))
    return OtherRows(tuple(row[:limit] for row, limit in both), any(len(row) > limit for row, limit in both))


def check_fusing(fusion: Fusion, overrides: Sequence[str]) -> None:
    """Is there a language model, where its weight is set?"""
    for override in overrides:
        if fusion.model is None and override.startswith("translate.fusion.weight"):
            raise UserError(
                f"--set {override}: weighs a language model that is missing: set translate.fusion.model too"
            )


def fuse(trained: Trained, fusion: Fusion) -> Fused | None:
    """The language model that a setting names, for this model; None if it names none, or one without weight."""
    if fusion.model is None or fusion.weight == 0:
        return None
    if not trained.model.has_decoder:
        raise UserError(
            "translate.fusion: adds a language model to the steps of a decoder, but this model has none: set "
            "translate.reading.language_model instead, of the type prefix-beam"
        )
    try:
        found, numbers = load_language_model(
            Path(fusion.model).expanduser(), trained.target_tokenizer, next(trained.model.parameters()).device
        )
    except UserError as error:
        raise UserError(f"translate.fusion.model: {error}") from error
    return Fused(language_of(found.model, numbers), fusion.weight, target_limit(found))


def joined_weights(joining: Joining) -> tuple[float, ...]:
    """A weight for each model, the own one first."""
    if joining.mean not in MEANS:
        raise UserError(f"mean: got {joining.mean!r}, wanted one of {', '.join(MEANS)}")
    count = 1 + len(joining.folders)
    weights = (1.0,) * count if joining.weights is None else joining.weights
    if len(weights) != count:
        told = "1 number" if len(weights) == 1 else f"{len(weights)} numbers"
        raise UserError(f"weights: got {told} for {count} models: give one for each, in the order of the models")
    if not all(math.isfinite(weight) and weight > 0 for weight in weights):
        raise UserError(f"weights: got {', '.join(f'{one:g}' for one in weights)}: each should be a number above 0")
    return weights


def check_joining(own: Trained, other: Trained, folder: Path) -> None:
    """Can the other model, that of the folder, say each step together with the own one?"""
    if other.model.is_language_model:
        raise UserError(
            f"{folder} is a language model, which reads no source, so it cannot be in an ensemble of models that "
            f"translate. To let it count beside them: --set translate.fusion.model={folder}"
        )
    for trained, name in ((own, "the first model"), (other, str(folder))):
        if not trained.model.has_decoder:
            raise UserError(f"{name} has no decoder, so it takes no steps that an ensemble could average: leave it out")
    if other.source_tokenizer.reads != own.source_tokenizer.reads:
        raise UserError(
            f"{folder} reads {other.source_tokenizer.reads}, but the first model {own.source_tokenizer.reads}: the "
            "models of an ensemble must be able to read the same lines"
        )
    difference = target_difference(own, other)
    if difference:
        raise UserError(
            f"{folder} does not say the same target pieces as the first model ({difference}), so their steps cannot be "
            "averaged. Models do where data.train, text and train.seed were the same in training. What was said by "
            "models with other pieces can be scored together: weft rerank"
        )


def target_difference(own: Trained, other: Trained) -> str:
    """How the target pieces of two models differ, in words; empty if they do not."""
    ours, theirs = own.target_tokenizer, other.target_tokenizer
    if ours.size != theirs.size:
        return f"{theirs.size:,} pieces there, {ours.size:,} here"
    pairs = zip(ours.vocabulary(), theirs.vocabulary(), strict=True)
    differing = [(number, there, here) for number, (here, there) in enumerate(pairs) if here != there]
    if differing:
        number, there, here = differing[0]
        return f"{len(differing):,} of {ours.size:,} differ, such as number {number}: {there!r} there, {here!r} here"
    return "" if ours.order == theirs.order else f"it says them {theirs.order}, the first model {ours.order}"
