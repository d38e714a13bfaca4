"""Verifies an exported model against torch: same greedy outputs and log-probabilities within a tolerance, on
random sources of several lengths.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray

from weft.checkpoints.trained_model import TrainedModel, load_model
from weft.core.codec import BOS, EOS, NUM_SPECIAL_TOKENS
from weft.core.errors import UserError
from weft.core.padded import Padded
from weft.core.state import State
from weft.decoding.greedy import GreedySearch
from weft.inference.export.standalone.onnx_model import OnnxModel

VERIFIED_LINES = 8
MAX_VERIFIED_LENGTH = 40  # source tokens
TOLERANCE = 1e-4  # of log-probabilities

TokenRows = list[list[int]]


class VerificationResult(NamedTuple):
    """The number of equal outputs and of their tokens, and the largest difference of log-probabilities."""

    lines: int
    tokens: int
    difference: float

    def __str__(self) -> str:
        same = f"{self.lines} outputs with {self.tokens} tokens equal those of torch"
        return f"verified: {same}, log-probabilities differ by at most {self.difference:.1e}"


def verify_export(folder: Path, exported: Path) -> VerificationResult:
    """Raise UserError unless the exported model agrees with the model in `folder`."""
    return ExportVerifier(load_model(folder), OnnxModel(exported)).verify()


@dataclass(frozen=True)
class ExportVerifier:
    trained: TrainedModel
    exported: OnnxModel

    @torch.inference_mode()
    def verify(self) -> VerificationResult:
        sources = self._random_sources()
        ours, theirs = self._greedy(sources), self.exported.greedy(sources)
        steps = self._steps(sources, ours)
        difference = float(np.max([np.abs(one - other)[active].max() for one, other, active in steps]))
        if not difference <= TOLERANCE:  # also if it is not a number
            raise UserError(f"the exported model differs from torch: log-probabilities differ by {difference:.1e}")
        for source, one, other in zip(sources, ours, theirs, strict=True):
            if one != other and not self._is_tie(source, one, other):
                raise UserError(f"the exported model differs from torch: {one} became {other}")
        return VerificationResult(len(sources), sum(len(one) + 1 for one in ours), difference)

    def _random_sources(self) -> TokenRows:
        """Random token ids, EOS last, from one token to many."""
        generator, size = np.random.default_rng(1), self.trained.source_tokenizer.size
        longest = min(MAX_VERIFIED_LENGTH, self.trained.max_source_length)
        lengths = np.linspace(1, longest, VERIFIED_LINES).astype(int)
        return [[*generator.integers(NUM_SPECIAL_TOKENS, size, length).tolist(), EOS] for length in lengths]

    def _greedy(self, sources: TokenRows) -> TokenRows:
        limit = torch.tensor([self.exported.max_output_length(len(row)) for row in sources])
        found = GreedySearch()(self.trained.model.step, self._start(sources), limit, torch.arange(len(sources)))
        return [list(hypothesis.tokens) for (hypothesis,) in found]

    def _start(self, sources: TokenRows) -> State:
        model = self.trained.model
        return model.start(model.encode(Padded.from_rows(sources)))

    def _steps(
        self, sources: TokenRows, outputs: TokenRows
    ) -> Iterator[tuple[NDArray[np.float32], NDArray[np.float32], NDArray[np.bool_]]]:
        """The log-probabilities [B,V] of both models after the same tokens, and which outputs have not ended [B]."""
        target = Padded.from_rows([[BOS, *output] for output in outputs])
        state, exported_state = self._start(sources), self.exported.start(sources)
        for tokens, active in zip(target.data.unbind(1), target.mask.unbind(1), strict=True):
            scores, state = self.trained.model.step(tokens, state)
            exported_scores, exported_state = self.exported.step(tokens.numpy(), exported_state)
            yield scores.log_probs.numpy(), exported_scores, active.numpy()

    def _is_tie(self, source: list[int], one: list[int], other: list[int]) -> bool:
        """Whether two outputs first differ at a step where both tokens are equally probable."""
        pairs = list(zip([*one, EOS], [*other, EOS], strict=False))
        number, (first, second) = next((n, pair) for n, pair in enumerate(pairs) if pair[0] != pair[1])
        scores, _, _ = list(self._steps([source], [one]))[number]
        return bool(abs(scores[0, first] - scores[0, second]) < TOLERANCE)
