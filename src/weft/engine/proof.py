"""That an exported model says what torch says: the same sources, step by step."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray

from weft.core.errors import UserError
from weft.core.marks import BEGIN, END, FIRST_PIECE
from weft.core.padded import Padded
from weft.core.state import State
from weft.engine.steps import source_limit
from weft.export.programs.with_onnx import Model
from weft.search.greedy import Greedy
from weft.store.model_folder import Trained, load_model

LINES = 8
LONGEST = 40  # pieces of a source
NEAR = 1e-4  # log-probabilities


class Proved(NamedTuple):
    """So many outputs of so many tokens were the same, and no log-probability was further away than `apart`."""

    lines: int
    tokens: int
    apart: float

    def told(self) -> str:
        same = f"{self.lines} outputs with {self.tokens} tokens are those of torch"
        return f"checked: {same}, no log-probability differs by more than {self.apart:.1e}"


@dataclass(frozen=True)
class Proof:
    """What both say is compared on sources of pieces at random, of many lengths."""

    trained: Trained
    model: Model

    @torch.inference_mode()
    def __call__(self) -> Proved:
        rows = sources(self.trained)
        said = self._greedy(rows)
        theirs = self.model.greedy(rows)
        apart = float(np.max([*self._differences(rows, said)]))
        if not apart <= NEAR:  # what is no number is not near
            raise UserError(f"the exported model does not say what torch says: log-probabilities differ by {apart:.1e}")
        for row, one, other in zip(rows, said, theirs, strict=True):
            if one != other and not self._tie(row, one, other):
                raise UserError(f"the exported model does not say what torch says: {one} became {other}")
        return Proved(len(rows), sum(len(one) + 1 for one in said), apart)

    def _greedy(self, rows: list[list[int]]) -> list[list[int]]:
        limit = torch.tensor([self.model.limit(len(row)) for row in rows])
        found = Greedy()(self.trained.model.step, self._start(rows), limit, torch.arange(len(rows)))
        return [list(one.tokens) for (one,) in found]

    def _start(self, rows: list[list[int]]) -> State:
        model = self.trained.model
        return model.start(model.encode(Padded.of(rows)))

    def _differences(self, rows: list[list[int]], said: list[list[int]]) -> Iterator[float]:
        """The largest of each step."""
        for ours, theirs, going in self._steps(rows, said):
            yield float(np.abs(ours - theirs)[going].max())

    def _steps(
        self, rows: list[list[int]], said: list[list[int]]
    ) -> Iterator[tuple[NDArray[np.float32], NDArray[np.float32], NDArray[np.bool_]]]:
        """What torch and the exported model say after the same tokens [B,V], and which outputs go on [B]."""
        whole = Padded.of([[BEGIN, *one] for one in said])
        state, their_state = self._start(rows), self.model.start(rows)
        for tokens, going in zip(whole.data.unbind(1), whole.mask.unbind(1), strict=True):
            scores, state = self.trained.model.step(tokens, state)
            theirs, their_state = self.model.step(tokens.numpy(), their_state)
            yield scores.log_probs.numpy(), theirs, going.numpy()

    def _tie(self, row: list[int], one: list[int], other: list[int]) -> bool:
        """Do they part where two tokens are as good as equal?"""
        same = next(
            place for place, pair in enumerate(zip([*one, END], [*other, END], strict=False)) if len(set(pair)) > 1
        )
        ours, _, _ = [*self._steps([row], [one])][same]
        first, second = ([*tokens, END][same] for tokens in (one, other))
        return bool(abs(ours[0, first] - ours[0, second]) < NEAR)


def prove(folder: Path, exported: Path) -> Proved:
    """folder: of the model. exported: what was made of it."""
    return Proof(load_model(folder), Model(exported))()


def sources(trained: Trained) -> list[list[int]]:
    """Rows of pieces, the end mark last, from one piece to many."""
    draws = np.random.default_rng(1)
    lengths = np.linspace(1, min(LONGEST, source_limit(trained)), LINES).astype(int)
    return [[*draws.integers(FIRST_PIECE, trained.source_tokenizer.size, length).tolist(), END] for length in lengths]
