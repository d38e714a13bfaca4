"""The beam search benchmark: all engines decode the same sentences with the same weights; ratios of speeds."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from benchmarks.beam_search import ctranslate2, marian, opennmt
from benchmarks.beam_search.engines import engines
from benchmarks.beam_search.job import Batching, Job, Shape, read_answer
from benchmarks.beam_search.report import Turn, fastest, make_report, same_outputs
from benchmarks.beam_search.sentences import LONGEST, SHORTEST, Sentences, make_sentences, number_pieces
from benchmarks.beam_search.weft_model import MODEL, SPECIAL_TOKEN_BIAS, Weights, draw_weights, outputs, save
from benchmarks.beam_search.weight_names import rename_weights
from benchmarks.beam_search.workers import weft_worker
from benchmarks.beam_search.workers.torch_models import fill, pad_batch
from benchmarks.beam_search.workers.worker import Batches, Decode, run_worker
from benchmarks.beam_speed import BATCHINGS, Task

from weft.core.special_tokens import NUM_SPECIAL_TOKENS
from weft.nn.layers import NormPlacement

SHAPE = Shape(layers=2, dim=8, hidden=12, heads=2)


@pytest.fixture(scope="module")
def sentences() -> Sentences:
    return make_sentences(50, 7)


@pytest.fixture(scope="module")
def weights(sentences: Sentences) -> Weights:
    return draw_weights(SHAPE, sentences.tokenizer)


@pytest.fixture
def job(sentences: Sentences) -> Job:
    batching = Batching(2, "sentences")
    return Job(
        shape=SHAPE,
        vocabulary=sentences.tokenizer.size,
        batching=batching,
        batches=sentences.batches(batching),
        beam=3,
        tokens=4,
        workers=1,
        threads=1,
        pad=0,
        begin=1,
        end=2,
        unknown=3,
    )


# --- Sentences -------------------------------------------------------------------------------------------------------


def test_generated_sentences_are_deterministic_and_sorted_by_length(sentences: Sentences) -> None:
    lengths = [len(row) for row in sentences.rows]
    assert lengths == sorted(lengths, reverse=True)
    assert all(SHORTEST <= length <= LONGEST for length in lengths)
    assert make_sentences(50, 7).rows == sentences.rows
    assert make_sentences(50, 8).rows != sentences.rows


def test_numbered_tokens_are_words_of_the_tokenizer() -> None:
    found = number_pieces([[4, 0, 11], [4]], pieces=10)
    assert found.tokenizer.decode(found.rows) == ["4 0 11", "4"]
    assert found.tokenizer.encode(["4 0 11", "4"]) == found.rows
    assert found.tokenizer.size == NUM_SPECIAL_TOKENS + 1 + 12  # special tokens, unknown token, numbers 0 to 11
    assert found.tokenizer.unknown_id == NUM_SPECIAL_TOKENS


def test_batches_keep_the_order_of_rows(sentences: Sentences) -> None:
    by_sentences = sentences.batches(Batching(3, "sentences"))
    assert [len(batch) for batch in by_sentences] == [3, 3, 1]
    by_tokens = sentences.batches(Batching(40, "tokens"))
    assert all(len(batch) * (len(batch[0]) + 1) <= 40 for batch in by_tokens if len(batch) > 1)
    for batches in (by_sentences, by_tokens):
        assert [row for batch in batches for row in batch] == sentences.rows


# --- Weights ---------------------------------------------------------------------------------------------------------


def count(arrays: Weights) -> int:
    return sum(array.size for array in arrays.values())


def test_biases_are_nonzero_and_special_tokens_are_excluded(weights: Weights) -> None:
    assert all((array != 0).all() for array in weights.values() if array.ndim == 1)
    assert (weights["head.bias"][:NUM_SPECIAL_TOKENS] == SPECIAL_TOKEN_BIAS).all()
    assert (weights["head.bias"][NUM_SPECIAL_TOKENS:] > SPECIAL_TOKEN_BIAS / 2).all()


def test_weights_are_split_and_concatenated_by_rows() -> None:
    weights: Weights = {
        "a.weight": np.arange(6, dtype=np.float32).reshape(3, 2),
        "a.bias": np.arange(3, dtype=np.float32),
        "b.weight": np.full((1, 2), 9, np.float32),
        "b.bias": np.full(1, 9, np.float32),
    }
    split = rename_weights(weights, {("a",): ("x", "y", "z")}, theirs="p.")
    assert split["p.y.weight"].tolist() == [[2, 3]]
    assert split["p.z.bias"].tolist() == [2]
    joined = rename_weights(weights, {("a", "b"): ("x",)})
    assert joined["x.bias"].tolist() == [0, 1, 2, 9]


def test_every_weight_is_exported_to_opennmt(weights: Weights) -> None:
    found = opennmt.arrays(weights, SHAPE)
    assert count(found) == count(weights)
    project = weights["decoder.layers.1.self_attention.project.weight"]
    parts = [
        found[f"decoder.transformer_layers.1.self_attn.linear_{name}.weight"] for name in ("query", "keys", "values")
    ]
    assert (np.concatenate(parts) == project).all()


def test_every_weight_but_the_final_norms_is_exported_to_marian(weights: Weights) -> None:
    found = marian.arrays(weights, SHAPE)
    norms, positions = 2 * 2 * SHAPE.dim, 2 * marian.LONGEST * SHAPE.dim
    assert count(found) == count(weights) - norms + positions
    assert found["final_logits_bias"].shape == (1, len(weights["head.bias"]))
    # sine and cosine alternate
    assert found["model.decoder.embed_positions.weight"][0].tolist() == [0, 1] * (SHAPE.dim // 2)


def test_every_weight_is_exported_to_ctranslate2(weights: Weights) -> None:
    found = ctranslate2.arrays(weights, SHAPE)
    positions, duplicated = 2 * ctranslate2.LONGEST * SHAPE.dim, 2 * weights["source.weight"].size
    assert count(found) == count(weights) + positions + duplicated
    memory = [weights[f"decoder.layers.0.cross_attention.{name}.weight"] for name in ("key", "value")]
    assert (found["decoder.layer.0.attention.linear.1.weight"] == np.concatenate(memory)).all()
    assert "encoder.layer.1.self_attention.layer_norm.gamma" in found
    assert not any("norm.weight" in name for name in found)


def test_incomplete_or_extra_weights_are_rejected() -> None:
    model = torch.nn.Linear(2, 1)
    arrays = {"weight": np.full((1, 2), 7, np.float32), "bias": np.full(1, 8, np.float32)}
    fill(model, arrays)
    assert model.weight.tolist() == [[7, 7]]
    with pytest.raises(ValueError, match=r"\['bias'\]"):
        fill(model, {"weight": arrays["weight"]})
    with pytest.raises(ValueError, match="other"):
        fill(model, {**arrays, "other": arrays["bias"]})
    with pytest.raises(ValueError, match="weight: got"):
        fill(model, {**arrays, "weight": arrays["bias"]})


# --- Engines ---------------------------------------------------------------------------------------------------------


def test_worker_warms_up_and_strips_special_tokens(job: Job, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    batch_counts: list[int] = []

    def make(worker_job: Job, folder: Path) -> Decode:
        def decode(batches: Batches) -> list[list[int]]:
            batch_counts.append(len(batches))
            return [[worker_job.begin, *row, worker_job.end, worker_job.pad] for batch in batches for row in batch]

        return decode

    job.write(tmp_path)
    monkeypatch.chdir(tmp_path)
    run_worker(make)
    assert batch_counts == [2, len(job.batches)]
    answer = read_answer(tmp_path)
    assert answer.outputs == [row for batch in job.batches for row in batch]
    assert answer.seconds > 0


def test_rows_are_padded_after_eos(job: Job) -> None:
    source, lengths = pad_batch([[7, 8, 9], [7]], job)
    assert source.tolist() == [[7, 8, 9, 2], [7, 2, 0, 0]]
    assert lengths.tolist() == [4, 2]


@pytest.mark.parametrize("batching", [Batching(1, "sentences"), Batching(3, "sentences"), Batching(40, "tokens")])
def test_weft_outputs_do_not_depend_on_batching(
    job: Job, sentences: Sentences, weights: Weights, tmp_path: Path, batching: Batching
) -> None:
    save(tmp_path / MODEL, SHAPE, sentences.tokenizer, weights, "pre")
    decode = weft_worker.make(replace(job, batching=batching), tmp_path)
    found = decode(sentences.batches(batching))
    assert found == outputs(tmp_path / MODEL, sentences.rows, job.tokens, job.beam, end=True)
    assert {len(row) for row in found} == {job.tokens}


def test_expected_outputs_depend_on_norm_and_end(sentences: Sentences, weights: Weights, tmp_path: Path) -> None:
    norms: tuple[NormPlacement, ...] = ("pre", "post")
    for norm in norms:
        save(tmp_path / norm, SHAPE, sentences.tokenizer, weights, norm)
    before, after = (outputs(tmp_path / norm, sentences.rows, 4, 3, end=True) for norm in norms)
    assert before != after
    assert outputs(tmp_path / "pre", sentences.rows, 4, 3, end=False) != before


def test_ctranslate2_runs_with_one_worker_and_with_one_per_thread(sentences: Sentences, weights: Weights) -> None:
    task = Task(sentences, weights, 2)
    jobs = [task.job(engine, BATCHINGS[0]) for engine in engines(2) if engine.name == "CTranslate2"]
    assert [(job.workers, job.threads) for job in jobs] == [(1, 2), (2, 1)]
    assert [engine.label for engine in engines(1)] == ["Weft", "OpenNMT-py", "transformers", "CTranslate2, 1 x 1"]


# --- Rounds and report -----------------------------------------------------------------------------------------------


@pytest.fixture
def report() -> dict[str, dict[str, Any]]:
    def turns(*speeds: float, same: int = 3) -> list[Turn]:
        return [Turn(speed, 100.0, same) for speed in speeds]

    rounds = {
        ("weft", "1"): turns(200, 400, 300),
        ("weft", "32"): turns(500, 500, 500),
        ("two, a", "1"): turns(100, 100, 200, same=2),
        ("two, a", "32"): turns(1000, 1000, 1000),
        ("two, b", "1"): turns(400, 400, 400),
        ("two, b", "32"): turns(250, 250, 250),
    }
    return make_report(rounds, "weft")


def test_ratios_are_computed_within_rounds(report: dict[str, dict[str, Any]]) -> None:
    assert report["two, a"]["1"]["ratio"] == {"median": 2.0, "min": 1.5, "max": 4.0, "rounds": [2.0, 4.0, 1.5]}
    assert report["weft"]["1"]["ratio"] is None
    assert report["two, a"]["1"]["same_outputs"] == 2


def test_fastest_setup_is_shown_for_each_batching(report: dict[str, dict[str, Any]]) -> None:
    best = fastest(report, {"weft": "Weft", "two, a": "Two", "two, b": "Two"})
    assert [best["Two"][batching]["label"] for batching in ("1", "32")] == ["two, b", "two, a"]


def test_same_outputs_compares_every_token() -> None:
    assert same_outputs([[1, 2], [3], [4]], [[1, 2], [3, 3], [4]]) == 2
