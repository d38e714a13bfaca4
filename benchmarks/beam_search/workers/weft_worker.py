"""Weft worker: translates lines of pieces, as `weft translate` does."""

from __future__ import annotations

from pathlib import Path

from benchmarks.beam_search.job import Job
from benchmarks.beam_search.weft_model import MODEL, fixed_length_settings
from benchmarks.beam_search.workers.worker import Batches, Decode, run_worker

from weft.inference.loader import load_translator

ENOUGH = 1_000_000  # tokens, so that each given batch stays whole


def make(job: Job, folder: Path) -> Decode:
    """Weft makes the batches itself if they are counted in tokens."""
    at_once = job.batching.size if job.batching.unit == "tokens" else ENOUGH
    overrides = [*fixed_length_settings(job.tokens, job.beam), f"translate.batch_tokens={at_once}"]
    translator = load_translator(folder / MODEL, device="cpu", overrides=overrides)
    tokenizer = translator.trained.target_tokenizer

    def decode(batches: Batches) -> list[list[int]]:
        inputs = [[row for batch in batches for row in batch]] if job.batching.unit == "tokens" else batches
        found = [
            translation.text
            for rows in inputs
            for translation in translator.translate(tokenizer.decode(rows), split=False)
        ]
        return tokenizer.encode(found)

    return decode


if __name__ == "__main__":
    run_worker(make)
