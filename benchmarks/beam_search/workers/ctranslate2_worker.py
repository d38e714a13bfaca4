"""CTranslate2 worker: builds a float32 model specification from the arrays."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from benchmarks.beam_search.job import Job
from benchmarks.beam_search.workers.worker import Arrays, Batches, Decode, read_arrays, run_worker
from ctranslate2 import Translator
from ctranslate2.specs import TransformerSpec

MODEL = "model"
UNITS = {"sentences": "examples", "tokens": "tokens"}  # what it calls them


def make(job: Job, folder: Path) -> Decode:
    convert(job, read_arrays(folder), folder / MODEL)
    translator = Translator(
        str(folder / MODEL),
        device="cpu",
        compute_type="float32",
        inter_threads=job.workers,
        intra_threads=job.threads,
    )

    def decode(batches: Batches) -> list[list[int]]:
        """All at once, since it shares the batches out among its workers; it makes them as they are given here."""
        found = translator.translate_batch(
            [[str(token) for token in (*row, job.end)] for batch in batches for row in batch],
            beam_size=job.beam,
            max_batch_size=job.batching.size,
            batch_type=UNITS[job.batching.unit],
            min_decoding_length=job.tokens,
            max_decoding_length=job.steps,
        )
        return [[int(token) for token in result.hypotheses[0]] for result in found]

    return decode


def convert(job: Job, arrays: Arrays, folder: Path) -> None:
    """Tokens are called by their numbers."""
    specification = TransformerSpec.from_config(job.shape.layers, job.shape.heads, pre_norm=True)
    for name, array in arrays.items():
        put(specification, name.split("."), array)
    tokens = [str(number) for number in range(job.vocabulary)]
    specification.register_source_vocabulary(tokens)
    specification.register_target_vocabulary(tokens)
    specification.config.unk_token = str(job.unknown)
    specification.config.bos_token = specification.config.decoder_start_token = str(job.begin)
    specification.config.eos_token = str(job.end)
    specification.config.layer_norm_epsilon = 1e-5
    specification.validate()
    folder.mkdir()
    specification.save(str(folder))


def put(specification: Any, path: list[str], array: Any) -> None:
    """At a place such as encoder, layer, 0, ffn, linear_0, weight."""
    for name in path[:-1]:
        specification = specification[int(name)] if name.isdigit() else getattr(specification, name)
    setattr(specification, path[-1], array)


if __name__ == "__main__":
    run_worker(make)
