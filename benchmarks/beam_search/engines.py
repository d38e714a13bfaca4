"""Decoding engines: environment, weights, threads, and the Weft search that gives the same outputs."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple, TypeAlias

import numpy as np
from benchmarks.beam_search import ctranslate2, marian, opennmt
from benchmarks.beam_search.job import WEIGHTS, Shape
from benchmarks.beam_search.weft_model import MODEL, Weights, save
from benchmarks.peers.environments import Pins
from benchmarks.peers.opennmt import PINS as OPENNMT_PINS

from weft.nn.layers import NormPlacement
from weft.text.tokenizer import Tokenizer

Arrays: TypeAlias = Callable[[Weights, Shape], Weights]

ROOT = Path(__file__).parents[2]
RUN = "import runpy, sys; sys.path.append({root!r}); runpy.run_module({module!r}, run_name='__main__')"


class Search(NamedTuple):
    """Settings with which Weft produces the outputs of an engine.

    norm: placement of layer norm. extra: tokens that the engine chooses freely where Weft can only end; the output is
    truncated there. end: whether the score of EOS counts when the final hypotheses are compared.
    """

    norm: NormPlacement = "pre"
    extra: int = 0
    end: bool = False


class Engine(NamedTuple):
    """A decoding engine.

    name: of the program; label: of this thread layout. arrays: converts the weights to its names (None: it reads a
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
        """Return the command; a peer sees only its own packages and, after them, this repository."""
        isolated = [] if self.pins is None else ["-I"]
        return [
            str(python),
            *isolated,
            "-c",
            RUN.format(root=str(ROOT), module=f"benchmarks.beam_search.workers.{self.module}"),
        ]

    def write_weights(self, folder: Path, weights: Weights, shape: Shape, tokenizer: Tokenizer) -> None:
        if self.arrays is None:
            save(folder / MODEL, shape, tokenizer, weights, self.search.norm)
        else:
            np.savez(folder / WEIGHTS, allow_pickle=False, **self.arrays(weights, shape))


def engines(threads: int) -> list[Engine]:
    """Return all engines, Weft first. CTranslate2 runs with one worker and with one worker per thread."""
    return [
        Engine("Weft", "Weft", None, "weft_worker", None, Search(end=True)),
        Engine("OpenNMT-py", "OpenNMT-py", OPENNMT_PINS, "opennmt_worker", opennmt.arrays, Search(extra=1)),
        Engine("transformers", "transformers", marian.PINS, "transformers_worker", marian.arrays, Search(norm="post")),
        *(_ctranslate2(workers, threads) for workers in sorted({1, threads})),
    ]


def _ctranslate2(workers: int, threads: int) -> Engine:
    label = f"CTranslate2, {workers} x {threads // workers}"
    pins, arrays = ctranslate2.PINS, ctranslate2.arrays
    return Engine("CTranslate2", label, pins, "ctranslate2_worker", arrays, Search(extra=1), workers)
