"""Verifies that an exported model has the greedy outputs and log-probabilities of torch, on random sources."""

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray

from weft.checkpoints.trained_model import TrainedModel, load_model
from weft.core.errors import UserError
from weft.core.padded import Padded
from weft.core.special_tokens import BOS, EOS, NUM_SPECIAL_TOKENS
from weft.decoding.greedy import GreedySearch
from weft.inference.export.standalone.onnx_model import OnnxModel
from weft.models.model import Model

VERIFIED_LINES = 8
MAX_VERIFIED_LENGTH = 40  # source tokens
TOLERANCE = 1e-4  # of log-probabilities

TokenRows = list[list[int]]
StepScores = tuple[NDArray[np.float32], NDArray[np.float32], NDArray[np.bool_]]


class VerificationResult(NamedTuple):
    """The number of equal outputs and of their tokens, and the largest difference of log-probabilities."""

    lines: int
    tokens: int
    difference: float

    def __str__(self) -> str:
        same = f"{self.lines} outputs with {self.tokens} tokens equal those of torch"
        return f"verified: {same}, log-probabilities differ by at most {self.difference:.1e}"


@torch.inference_mode()
def verify_export(folder: Path, exported_folder: Path) -> VerificationResult:
    """Raise UserError unless the exported model agrees with the model in `folder`."""
    trained, exported = load_model(folder), OnnxModel(exported_folder)
    model, sources = trained.model, _random_sources(trained)
    limit = torch.tensor([exported.max_output_length(len(row)) for row in sources])
    start = model.start(model.encode(Padded.from_rows(sources)))
    found = GreedySearch()(model.step, start, limit, torch.arange(len(sources)))
    ours, theirs = [list(hypothesis.tokens) for (hypothesis,) in found], exported.greedy(sources)
    steps = _step_scores(model, exported, sources, ours)
    difference = float(np.max([np.abs(one - other)[active].max() for one, other, active in steps]))
    if not difference <= TOLERANCE:  # also if it is not a number
        raise UserError(f"the exported model differs from torch: log-probabilities differ by {difference:.1e}")
    for source, one, other in zip(sources, ours, theirs, strict=True):
        if one != other and not _is_tie(_step_scores(model, exported, [source], [one]), one, other):
            raise UserError(f"the exported model differs from torch: {one} became {other}")
    return VerificationResult(len(sources), sum(len(one) + 1 for one in ours), difference)


def _random_sources(trained: TrainedModel) -> TokenRows:
    """Random token ids, EOS last, from one token to many."""
    generator, size = np.random.default_rng(1), trained.source_tokenizer.size
    lengths = np.linspace(1, min(MAX_VERIFIED_LENGTH, trained.max_source_length), VERIFIED_LINES).astype(int)
    return [[*generator.integers(NUM_SPECIAL_TOKENS, size, length).tolist(), EOS] for length in lengths]


def _step_scores(model: Model, exported: OnnxModel, sources: TokenRows, outputs: TokenRows) -> Iterator[StepScores]:
    """The log-probabilities [B,V] of both models after the same tokens, and which outputs have not ended [B]."""
    target = Padded.from_rows([[BOS, *output] for output in outputs])
    state, exported_state = model.start(model.encode(Padded.from_rows(sources))), exported.start(sources)
    for tokens, active in zip(target.data.unbind(1), target.mask.unbind(1), strict=True):
        scores, state = model.step(tokens, state)
        exported_scores, exported_state = exported.step(tokens.numpy(), exported_state)
        yield scores.log_probs.numpy(), exported_scores, active.numpy()


def _is_tie(steps: Iterator[StepScores], one: list[int], other: list[int]) -> bool:
    """Whether two outputs first differ at a step where both tokens are equally probable. steps: of `one`."""
    pairs = zip(steps, [*one, EOS], [*other, EOS], strict=False)
    return next(bool(abs(scores[0, a] - scores[0, b]) < TOLERANCE) for (scores, _, _), a, b in pairs if a != b)
