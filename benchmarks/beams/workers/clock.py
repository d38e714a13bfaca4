"""What every worker does: it reads its job, decodes a little to warm up, then everything by the clock, and answers.

Workers run in the environments of their engines, where Weft is not.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import TypeAlias

import numpy as np
from benchmarks.beams.job import WEIGHTS, Answer, Job, read_job
from numpy.typing import NDArray

Arrays: TypeAlias = dict[str, NDArray[np.float32]]
Batches: TypeAlias = list[list[list[int]]]
Decode: TypeAlias = Callable[[Batches], list[list[int]]]  # the best output of each sentence of all batches


def work(make: Callable[[Job, Path], Decode]) -> None:
    """The job in the current folder; `make` loads the engine, whose weights are in the same folder."""
    folder = Path.cwd()
    job = read_job(folder)
    decode = make(job, folder)
    decode(job.batches[: job.warm_up])
    began = time.perf_counter()
    outputs = decode(job.batches)
    seconds = time.perf_counter() - began
    Answer(seconds, [without_marks(output, job) for output in outputs]).write(folder)


def read_arrays(folder: Path) -> Arrays:
    """The weights, under the engine's own names; arrays alone, nothing is unpickled."""
    with np.load(folder / WEIGHTS, allow_pickle=False) as found:
        return dict(found)


def without_marks(output: list[int], job: Job) -> list[int]:
    return [token for token in output if token not in (job.pad, job.begin, job.end)]
