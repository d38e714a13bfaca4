"""Weft at work: lines of pieces in, lines of pieces out, as `weft translate` has them."""

from __future__ import annotations

from pathlib import Path

from benchmarks.beams.job import Job
from benchmarks.beams.ours import MODEL, forced
from benchmarks.beams.workers.clock import Batches, Decode, work

from weft.inference.loader import load_translator

ENOUGH = 1_000_000  # tokens, so that whatever is given at once goes together


def make(job: Job, folder: Path) -> Decode:
    """By tokens it makes the batches itself."""
    at_once = job.batching.size if job.batching.unit == "tokens" else ENOUGH
    overrides = [*forced(job.tokens, job.beam), f"translate.batch_tokens={at_once}"]
    translator = load_translator(folder / MODEL, device="cpu", overrides=overrides)
    tokenizer = translator.trained.target_tokenizer

    def decode(batches: Batches) -> list[list[int]]:
        given = [[row for batch in batches for row in batch]] if job.batching.unit == "tokens" else batches
        found = [one.text for rows in given for one in translator.translate(tokenizer.decode(rows))]
        return tokenizer.encode(found)

    return decode


if __name__ == "__main__":
    work(make)
