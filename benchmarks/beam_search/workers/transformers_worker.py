"""Hugging Face transformers worker: `generate` of its Marian model."""

from __future__ import annotations

from pathlib import Path

from benchmarks.beam_search.job import Job
from benchmarks.beam_search.workers.torch_models import fill, pad_batch
from benchmarks.beam_search.workers.worker import Batches, Decode, read_arrays, run_worker
from transformers import GenerationConfig, MarianConfig, MarianMTModel


def make(job: Job, folder: Path) -> Decode:
    arrays = read_arrays(folder)
    model = MarianMTModel(config_of(job, len(arrays["model.encoder.embed_positions.weight"]))).eval()
    fill(model, arrays)
    how = generation_of(job)

    def decode(batches: Batches) -> list[list[int]]:
        found = []
        for rows in batches:
            source, _ = pad_batch(rows, job)
            found += model.generate(source, attention_mask=source != job.pad, generation_config=how).tolist()
        return found

    return decode


def config_of(job: Job, positions: int) -> MarianConfig:
    shape = job.shape
    return MarianConfig(
        vocab_size=job.vocabulary,
        d_model=shape.dim,
        encoder_layers=shape.layers,
        decoder_layers=shape.layers,
        encoder_attention_heads=shape.heads,
        decoder_attention_heads=shape.heads,
        encoder_ffn_dim=shape.hidden,
        decoder_ffn_dim=shape.hidden,
        max_position_embeddings=positions,
        activation_function="relu",
        scale_embedding=True,
        share_encoder_decoder_embeddings=True,
        tie_word_embeddings=True,
        pad_token_id=job.pad,
        bos_token_id=job.begin,
        eos_token_id=job.end,
        decoder_start_token_id=job.begin,
    )


def generation_of(job: Job) -> GenerationConfig:
    return GenerationConfig(
        num_beams=job.beam,
        do_sample=False,
        min_new_tokens=job.tokens,
        max_new_tokens=job.steps,
        pad_token_id=job.pad,
        eos_token_id=job.end,
        forced_eos_token_id=job.end,
        decoder_start_token_id=job.begin,
    )


if __name__ == "__main__":
    run_worker(make)
