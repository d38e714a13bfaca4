"""Main function of all workers: read the job, warm up, decode with timing, write the answer.

Workers run in the environments of their engines, without Weft.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import TypeAlias

import numpy as np
from benchmarks.beam_search.job import WEIGHTS, Answer, Job, read_job
from numpy.typing import NDArray

Arrays: TypeAlias = dict[str, NDArray[np.float32]]
Batches: TypeAlias = list[list[list[int]]]
Decode: TypeAlias = Callable[[Batches], list[list[int]]]  # best output of each sentence


def run_worker(make: Callable[[Job, Path], Decode]) -> None:
    """Run the job in the current folder; `make` loads the engine with the weights in that folder."""
    folder = Path.cwd()
    job = read_job(folder)
    decode = make(job, folder)
    decode(job.batches[: job.warm_up])
    began = time.perf_counter()
    outputs = decode(job.batches)
    seconds = time.perf_counter() - began
    Answer(seconds, [without_special_tokens(output, job) for output in outputs]).write(folder)


def read_arrays(folder: Path) -> Arrays:
    """Read the weights, under the engine's names, without unpickling."""
    with np.load(folder / WEIGHTS, allow_pickle=False) as found:
        return dict(found)


def without_special_tokens(output: list[int], job: Job) -> list[int]:
    return [token for token in output if token not in (job.pad, job.begin, job.end)]
