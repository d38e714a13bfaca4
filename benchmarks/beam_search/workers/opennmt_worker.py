"""OpenNMT-py worker: its Translator with the default options of its command."""

from __future__ import annotations

import sys
from argparse import Namespace
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from benchmarks.beam_search.job import Job
from benchmarks.beam_search.workers.torch_models import fill, pad_batch
from benchmarks.beam_search.workers.worker import Batches, Decode, read_arrays, run_worker
from onmt import opts
from onmt.constants import DefaultTokens
from onmt.inputters.inputter import dict_to_vocabs
from onmt.model_builder import build_base_model
from onmt.translate import GNMTGlobalScorer
from onmt.translate.translator import Translator
from onmt.utils.parse import ArgumentParser


def make(job: Job, folder: Path) -> Decode:
    translator = translator_of(job, folder)

    def decode(batches: Batches) -> list[list[int]]:
        found = []
        for rows in batches:
            source, lengths = pad_batch(rows, job)
            batch = {"src": source[:, :, None], "srclen": lengths}
            found += translator.translate_batch(batch, attn_debug=False)["predictions"]
        return [best[0].tolist() for best in found]

    return decode


def translator_of(job: Job, folder: Path) -> Any:
    """As `onmt.translate.build_translator` makes it, but for the checkpoint, which it cannot read with this torch."""
    model_options, options = model_options_of(job), options_of(job)
    model_options.self_attn_type = options.self_attn_type
    vocabulary = vocabulary_of(job)
    vocabularies = dict_to_vocabs({"src": vocabulary, "tgt": vocabulary, "data_task": "seq2seq"})
    model = build_base_model(model_options, vocabularies).eval()
    fill(model, read_arrays(folder))
    return Translator.from_opt(
        model,
        vocabularies,
        options,
        model_options,
        global_scorer=GNMTGlobalScorer.from_opt(options),
        report_score=False,
        out_file=sys.stdout,
    )


def vocabulary_of(job: Job) -> list[str]:
    special_tokens = {
        job.pad: DefaultTokens.PAD,
        job.begin: DefaultTokens.BOS,
        job.end: DefaultTokens.EOS,
        job.unknown: DefaultTokens.UNK,
    }
    return [special_tokens[number] if number in special_tokens else str(number) for number in range(job.vocabulary)]


def model_options_of(job: Job) -> Namespace:
    shape = job.shape
    written = {
        "data": "-",
        "src_vocab": "-",
        "encoder_type": "transformer",
        "decoder_type": "transformer",
        "layers": shape.layers,
        "heads": shape.heads,
        "hidden_size": shape.dim,
        "word_vec_size": shape.dim,
        "transformer_ff": shape.hidden,
        "norm_eps": 1e-5,
        "dropout": 0.0,
        "attention_dropout": 0.0,
    }
    chosen = ["-position_encoding", "-share_embeddings", "-share_decoder_embeddings", "-add_qkvbias", "-add_ffnbias"]
    options = read_options(opts.train_opts, written, chosen)
    ArgumentParser.update_model_opts(options)
    ArgumentParser.validate_model_opts(options)
    return options


def options_of(job: Job) -> Namespace:
    """At its `max_length` an output is cut off, whatever its last token, so there is a step more than tokens."""
    written = {
        "model": "-",
        "src": "-",
        "beam_size": job.beam,
        "min_length": job.tokens,
        "max_length": job.steps,
        "max_length_ratio": 0,
    }
    return read_options(opts.translate_opts, written, [])


def read_options(declare: Callable[[Any], None], written: Mapping[str, Any], chosen: list[str]) -> Namespace:
    """As the toolkit reads its command line."""
    parser = ArgumentParser()
    declare(parser)
    line = [word for name, value in written.items() for word in (f"-{name}", str(value))]
    options: Namespace = parser.parse_args([*line, *chosen])
    return options


if __name__ == "__main__":
    run_worker(make)
