"""The engines: where each lives, how it has its weights and threads, and what its outputs can be compared with."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple, TypeAlias

import numpy as np
from benchmarks.beams import ctranslate2, marian, opennmt
from benchmarks.beams.job import WEIGHTS, Shape
from benchmarks.beams.ours import MODEL, Weights, save
from benchmarks.peers.environments import Pins
from benchmarks.peers.opennmt import PINS as OPENNMT_PINS

from weft.nn.layers import NormPlacement
from weft.text.tokenizer import Tokenizer

Arrays: TypeAlias = Callable[[Weights, Shape], Weights]

ROOT = Path(__file__).parents[2]
RUN = "import runpy, sys; sys.path.append({root!r}); runpy.run_module({module!r}, run_name='__main__')"


class Search(NamedTuple):
    """What Weft must do to say the same.

    norm: where the layers have it. extra: tokens that an engine chooses freely where Weft can only end; it is cut off
    after them. end: does the score of the end mark count when the last hypotheses are compared?
    """

    norm: NormPlacement = "pre"
    extra: int = 0
    end: bool = False


class Engine(NamedTuple):
    """What can decode.

    name: of the program; label: of this way to use its threads. arrays: the weights under its names (None: it reads a
    model folder).
    """

    name: str
    label: str
    pins: Pins | None
    module: str
    arrays: Arrays | None
    search: Search
    workers: int = 1

    def command(self, python: Path) -> list[str]:
        """A peer sees no packages but its own, and this repository behind them."""
        alone = [] if self.pins is None else ["-I"]
        return [str(python), *alone, "-c", RUN.format(root=str(ROOT), module=f"benchmarks.beams.workers.{self.module}")]

    def write_weights(self, folder: Path, weights: Weights, shape: Shape, tokenizer: Tokenizer) -> None:
        if self.arrays is None:
            save(folder / MODEL, shape, tokenizer, weights, self.search.norm)
        else:
            np.savez(folder / WEIGHTS, allow_pickle=False, **self.arrays(weights, shape))


def engines(threads: int) -> list[Engine]:
    """Weft first, with which the others are compared. With several threads, CTranslate2 can have as many workers."""
    return [
        Engine("Weft", "Weft", None, "in_weft", None, Search(end=True)),
        Engine("OpenNMT-py", "OpenNMT-py", OPENNMT_PINS, "in_opennmt", opennmt.arrays, Search(extra=1)),
        Engine("transformers", "transformers", marian.PINS, "in_transformers", marian.arrays, Search(norm="post")),
        *(_ctranslate2(workers, threads) for workers in sorted({1, threads})),
    ]


def _ctranslate2(workers: int, threads: int) -> Engine:
    label = f"CTranslate2, {workers} x {threads // workers}"
    pins, arrays = ctranslate2.PINS, ctranslate2.arrays
    return Engine("CTranslate2", label, pins, "in_ctranslate2", arrays, Search(extra=1), workers)
