"""Benchmark against other toolkits: same tokens, same model shapes, figures parsed from the logs."""

import sys
from collections.abc import Sequence
from pathlib import Path

import pytest
import torch
import yaml
from benchmarks.peer_speed import toolkits
from benchmarks.peers import joeynmt, opennmt, processes, weft_toolkit
from benchmarks.peers.data import SIDES, Pieces, piece_name, read_recipe, write_pieces
from benchmarks.peers.environments import Pins
from benchmarks.peers.matmul_limit import (
    BLOCK,
    Buffers,
    Matmul,
    Step,
    mean_step,
    measure,
    run_in_blocks,
    run_whole,
    step_matmuls,
)
from benchmarks.peers.processes import OUTPUT, memory_of, run
from benchmarks.peers.report import Round, Turn, make_report
from benchmarks.peers.rounds import Comparison, take_round
from benchmarks.peers.shapes import Cell, Recurrent, Score, Transformer
from benchmarks.peers.toolkit import Figures, Job, Toolkit, Training

from weft.config.recipe import load_recipe
from weft.core.errors import UserError
from weft.models.build import build_model
from weft.models.model import count_parameters

TINY = Transformer(layers=3, dim=8, hidden=20, heads=2, dropout=0.1)
LINES = {
    "de": "Ein Mann schläft.\n\nZwei Hunde\u2028laufen.\nEin Hund.\n",
    "en": "A man sleeps.\nNobody.\nTwo dogs run.\nA dog.\n",
}


@pytest.fixture
def pieces(tmp_path: Path) -> Pieces:
    data, folder = tmp_path / "data", tmp_path / "pieces"
    data.mkdir()
    folder.mkdir()
    for language, text in LINES.items():
        (data / f"train.{language}").write_text(3 * text, encoding="utf-8")
    return write_pieces(read_recipe("multi30k-de-en-luong.yaml", data, 300), folder)


@pytest.fixture
def job(pieces: Pieces, tmp_path: Path) -> Job[Recurrent]:
    folder = tmp_path / "job"
    folder.mkdir()
    return Job(Training(Recurrent(), updates=20), pieces, folder)


# --- Data ----------------------------------------------------------------------------------------------------------


def rows(path: Path) -> list[list[str]]:
    return [line.split(" ") for line in path.read_bytes().decode().split("\n")[:-1]]


def test_pairs_with_an_empty_side_are_excluded(pieces: Pieces) -> None:
    target = ["".join(row).replace("▁", " ").strip() for row in rows(pieces.file("train", "target"))]
    assert target == 3 * ["A man sleeps.", "Two dogs run.", "A dog."]
    assert pieces.pairs == 9


def test_token_counts_include_end_tokens(pieces: Pieces) -> None:
    counted = [sum(len(row) + 1 for row in rows(pieces.file("train", side))) for side in SIDES]
    assert [pieces.source_tokens, pieces.target_tokens] == counted


def test_vocabulary_contains_every_token_once(pieces: Pieces) -> None:
    written = [piece for side in SIDES for row in rows(pieces.file("train", side)) for piece in row]
    words = [piece for (piece,) in rows(pieces.words)]
    assert sorted(words) == sorted(set(written))
    assert pieces.vocabulary == len(words)
    assert [written.count(word) for word in words] == sorted(map(written.count, words), reverse=True)


def test_tokens_contain_no_white_space(pieces: Pieces) -> None:
    text = pieces.words.read_text(encoding="utf-8")
    assert text.split() == text.split("\n")[:-1]
    assert [piece_name(7, piece) for piece in ("▁dog", "a\u2028b", "\u00a0", "")] == ["▁dog", "<7>", "<7>", "<7>"]


# --- Configuration of each toolkit ---------------------------------------------------------------------------------


@pytest.mark.parametrize("cell", ["lstm", "gru"])
@pytest.mark.parametrize("score", ["general", "additive"])
def test_recurrent_recipe_has_the_expected_parameters(job: Job[Recurrent], cell: Cell, score: Score) -> None:
    """Expected parameters, gate by gate, for a vocabulary of V with a bias on the output layer."""
    shape = Recurrent(cell=cell, score=score, embedding=4, hidden=3)
    command = weft_toolkit.recurrent_command(job._replace(training=Training(shape, 1)))
    recipe = load_recipe(Path(command[3]), [])
    vocabulary, gates, after = 11, 4 if cell == "lstm" else 3, 0 if cell == "lstm" else 1
    encoder = 2 * (gates * 3 * (4 + 3 + 1) + after * 3)
    decoder = gates * 6 * (4 + 6 + 6 + 1) + after * 6
    attention = 6 * 6 if score == "general" else 2 * 6 * 6 + 6
    expected = 2 * vocabulary * 4 + encoder + decoder + attention + 12 * 6 + vocabulary * (6 + 1)
    assert count_parameters(build_model(recipe.model, ["a"] * vocabulary, ["a"] * vocabulary, joint=True)) == expected


def test_recurrent_configurations_agree(job: Job[Recurrent]) -> None:
    joey = yaml.safe_load(Path(joeynmt.recurrent_command(job)[4]).read_text())
    open_nmt = yaml.safe_load(Path(opennmt.recurrent_command(job)[4]).read_text())
    weft = yaml.safe_load(Path(weft_toolkit.recurrent_command(job)[3]).read_text())
    assert joey["model"]["encoder"]["hidden_size"] == 256 == weft["model"]["encoder"]["cell"]["dim"]
    assert joey["model"]["decoder"]["hidden_size"] == 512 == weft["model"]["decoder"]["cell"]["dim"]
    assert open_nmt["src_vocab_size"] == job.pieces.vocabulary + 4  # with its special tokens: no token is cut off
    assert open_nmt["hidden_size"] == 512  # of the decoder, and of the encoder's two directions together
    assert joey["training"]["updates"] == 40 == open_nmt["train_steps"] == weft["train"]["steps"]
    assert joey["training"]["batch_size"] == 4096 == open_nmt["batch_size"] == weft["train"]["batch_tokens"]


@pytest.fixture
def transformer_job(pieces: Pieces, tmp_path: Path) -> Job[Transformer]:
    shape = Transformer(layers=2, dim=8, hidden=12, heads=2, dropout=0.3)
    return Job(Training(shape, updates=5, batch_tokens=2048, smoothing=0.1), pieces, tmp_path)


def test_transformer_recipe_has_the_expected_parameters(transformer_job: Job[Transformer]) -> None:
    """Expected parameters for a vocabulary of V with an output bias and output weights tied to the embeddings."""
    command = weft_toolkit.transformer_toolkit("float32").command(transformer_job)
    recipe = load_recipe(Path(command[3]), [])
    attention, network, norm = 4 * 8 * (8 + 1), 12 * (8 + 1) + 8 * (12 + 1), 2 * 8
    encoder, decoder = 2 * (attention + network + 2 * norm) + norm, 2 * (2 * attention + network + 3 * norm) + norm
    expected = 11 * 8 + 11 + encoder + decoder
    assert count_parameters(build_model(recipe.model, ["a"] * 11, ["a"] * 11, joint=True)) == expected


def test_transformer_configurations_agree(transformer_job: Job[Transformer]) -> None:
    joey = yaml.safe_load(Path(joeynmt.TRANSFORMER.command(transformer_job)[4]).read_text())
    open_nmt = yaml.safe_load(Path(opennmt.TRANSFORMER.command(transformer_job)[4]).read_text())
    weft = yaml.safe_load(Path(weft_toolkit.transformer_toolkit("float32").command(transformer_job)[3]).read_text())
    encoder = weft["model"]["encoder"]
    theirs = joey["model"]["encoder"]
    assert encoder["layers"] == 2 == open_nmt["layers"] == theirs["num_layers"]
    assert encoder["ffn_dim"] == 12 == open_nmt["transformer_ff"] == theirs["ff_size"]
    assert encoder["heads"] == 2 == open_nmt["heads"] == theirs["num_heads"]
    assert weft["model"]["source"]["dim"] == 8 == open_nmt["hidden_size"] == theirs["hidden_size"]
    assert encoder["attention_dropout"] == 0.3 == open_nmt["attention_dropout"][0] == theirs["dropout"]
    smoothing = weft["objective"]["label_smoothing"]
    assert smoothing == 0.1 == open_nmt["label_smoothing"] == joey["training"]["label_smoothing"]
    assert weft["train"]["batch_tokens"] == 2048 == open_nmt["batch_size"] == joey["training"]["batch_size"]


# --- Parsing of the logs -------------------------------------------------------------------------------------------

JOEYNMT = """
2024 - INFO - joeynmt.model - Total params: 12345
2024 - INFO - Epoch   1, Step:       20, Batch Loss:     7.100000, Batch Acc: 0.1, Tokens per Sec:      500, Lr: 0.001
2024 - INFO - Epoch   1, Step:       40, Batch Loss:     6.250000, Batch Acc: 0.1, Tokens per Sec:      874, Lr: 0.001
"""
OPENNMT = """
[2024 INFO] * number of parameters: 12345
[2024 INFO] Step 20/   40; acc: 5; ppl: 90.0; xent: 7.1; lr: 0.00100; sents: 9; bsz: 3/4/2; 500/600 tok/s;  9 sec;
[2024 INFO] Step 40/   40; acc: 6; ppl: 80.0; xent: 6.2; lr: 0.00100; sents: 9; bsz: 3/4/2; 700/874 tok/s;  9 sec;
"""


def test_joeynmt_log_is_parsed(job: Job[Recurrent]) -> None:
    assert joeynmt.read(job, JOEYNMT) == Figures(12345, 874.0, 6.25)


def test_opennmt_log_is_parsed(job: Job[Recurrent]) -> None:
    assert opennmt.read(job, OPENNMT) == Figures(12345, 874.0, 6.2)


def test_weft_log_is_parsed(job: Job[Recurrent]) -> None:
    (job.folder / "run").mkdir()
    records = [
        '{"step": 20, "tokens_per_second": 500.0, "loss": 7.1}',
        '{"step": 40, "tokens_per_second": 874.5, "loss": 6.25}',
    ]
    (job.folder / "run" / "log.jsonl").write_text("\n".join([*records, '{"step": 40, "valid": {}}', ""]))
    assert weft_toolkit.read(job, "12,345 parameters\n") == Figures(12345, 874.5, 6.25)


def test_incomplete_run_is_rejected(job: Job[Recurrent]) -> None:
    with pytest.raises(UserError, match="another version"):
        opennmt.read(job, OPENNMT.replace("Step 40/", "Step 39/"))


# --- Environments and processes ------------------------------------------------------------------------------------


def test_process_gets_its_threads_and_its_output_is_captured(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The process ends once its memory was measured after it printed, however busy the machine is."""

    def measure(number: int) -> dict[str, float]:
        printed, found = (tmp_path / OUTPUT).stat().st_size > 0, memory_of(number)
        if printed:
            (tmp_path / "measured").touch()
        return found

    monkeypatch.setattr(processes, "memory_of", measure)
    script = "import os, time\nprint(os.environ['OMP_NUM_THREADS'], os.getcwd(), flush=True)\n"
    script += "while not os.path.exists('measured'): time.sleep(0.01)"
    ran = run("toolkit", [sys.executable, "-c", script], tmp_path, 3)
    assert ran.output == f"3 {tmp_path}\n"
    if sys.platform == "linux":
        assert ran.peak is not None
        assert ran.anonymous is not None
        assert 1 < ran.anonymous < ran.peak < 200


# --- Report --------------------------------------------------------------------------------------------------------


def test_ratios_are_computed_within_rounds() -> None:
    report = make_report(make_rounds((200.0, 400.0, 300.0), (100.0, 100.0, 200.0)), ["weft"], {})
    assert report["other"]["ratios"]["weft"] == {"median": 2.0, "min": 1.5, "max": 4.0, "rounds": [2.0, 4.0, 1.5]}
    assert report["weft"]["peak_memory_mib"] == 100.0
    assert report["other"]["share"] is None


def test_share_of_the_maximum_is_computed_within_rounds() -> None:
    rounds = make_rounds((200.0, 400.0), (100.0, 100.0))
    report = make_report(rounds, ["weft"], {"weft": [400.0, 500.0], "other": [400.0, 500.0]})
    assert report["weft"]["share"]["rounds"] == [0.5, 0.8]
    assert report["other"]["share"]["rounds"] == [0.25, 0.2]


def test_peer_that_failed_in_a_round_is_excluded() -> None:
    rounds = make_rounds((200.0, 400.0), (100.0, 100.0))
    del rounds[1]["other"]
    assert list(make_report(rounds, ["weft"], {})) == ["weft"]


def make_rounds(ours: Sequence[float], others: Sequence[float]) -> list[Round]:
    return [
        {"weft": Turn(Figures(10, our, 6.0), 100.0, 50.0), "other": Turn(Figures(12, other, 6.5), None, None)}
        for our, other in zip(ours, others, strict=True)
    ]


# --- Turns ---------------------------------------------------------------------------------------------------------


def test_failed_peer_is_reported_and_others_continue(
    transformer_job: Job[Transformer], capsys: pytest.CaptureFixture[str]
) -> None:
    good = script("good", "print(1)", None)
    bad = script("bad", "raise SystemExit(3)", Pins("bad", ()))
    race = Comparison(
        {toolkit: Path(sys.executable) for toolkit in (good, bad)}, transformer_job.training, transformer_job.pieces, 1
    )
    assert list(take_round(race, 0)) == ["good"]
    assert "bad failed with code 3" in capsys.readouterr().err


def script(name: str, code: str, pins: Pins | None) -> Toolkit[Transformer]:
    return Toolkit(name, pins, lambda _: ["-c", code], lambda _, printed: Figures(1, float(len(printed)), 1.0))


# --- Limit of the speed, and variants of Weft ------------------------------------------------------------------------


def test_longer_side_of_a_step_fits_the_token_budget() -> None:
    pieces = Pieces(Path(), pairs=10, vocabulary=50, source_tokens=80, target_tokens=120)
    assert mean_step(pieces, 100) == Step(sentences=8, source=8, target=12)
    assert mean_step(pieces, 5).sentences == 1


def test_operations_are_six_per_weight_and_token_plus_attention() -> None:
    step, vocabulary = Step(sentences=4, source=5, target=7), 50
    sources, targets = 4 * 5, 4 * 7
    encoder = 3 * (4 * 8 * 8 + 2 * 8 * 20)
    decoder_per_target, decoder_per_source = 3 * (6 * 8 * 8 + 2 * 8 * 20), 3 * 2 * 8 * 8
    weights = sources * (encoder + decoder_per_source) + targets * (decoder_per_target + vocabulary * 8)
    attention = 3 * 4 * 2 * 8 * (5 * 5 + 7 * 7 + 7 * 5)  # layers, sentences, scores and values, width
    assert sum(product.operations for product in step_matmuls(TINY, vocabulary, step)) == 6 * (weights + attention)


def test_blockwise_product_matches_the_full_product() -> None:
    x, weight = torch.randn(2 * BLOCK + 3, 4), torch.randn(4, 6)
    found = []
    for way in (run_whole, run_in_blocks):
        places = Buffers(torch.zeros(len(x), 6), torch.zeros_like(x), torch.zeros_like(weight))
        way(x, weight, places)
        found.append(places)
    torch.testing.assert_close(found[0].dx, found[1].dx)
    torch.testing.assert_close(found[0].dweight, found[1].dweight)


def test_rates_are_consistent() -> None:
    step = Step(sentences=2, source=3, target=5)
    parts = [Matmul(2, 10, 8, 8), Matmul(1, 5, 4, 3, batch=4)]
    found = measure(parts, step, torch.float32)
    operations = sum(product.operations for product in parts)
    assert found.gigaflops * 1e9 * step.tokens / found.tokens_per_second == pytest.approx(operations)


def test_toolkits_are_chosen_by_name_and_precision() -> None:
    names = [toolkit.name for toolkit in toolkits("weft, opennmt", "float32,bfloat16")]
    assert names == ["weft", "weft bfloat16", "opennmt"]
    assert [toolkit.precision for toolkit in toolkits("joeynmt", "bfloat16")] == ["float32"]
    assert [toolkit.name for toolkit in toolkits("weft", "float32", parts=4)] == ["weft", "weft in 4 parts"]


def test_recipe_has_the_requested_precision(tmp_path: Path) -> None:
    pieces = Pieces(tmp_path, pairs=10, vocabulary=50, source_tokens=80, target_tokens=120)
    job = Job(Training(TINY, updates=1), pieces, tmp_path)
    (toolkit,) = toolkits("weft", "bfloat16")
    settings = yaml.safe_load(Path(toolkit.command(job)[3]).read_text())
    assert settings["train"]["precision"] == "bfloat16"


def test_accumulated_batches_have_the_same_size(tmp_path: Path) -> None:
    pieces = Pieces(tmp_path, pairs=10, vocabulary=50, source_tokens=80, target_tokens=120)
    job = Job(Training(TINY, updates=1, batch_tokens=4096), pieces, tmp_path)
    recipes = [
        yaml.safe_load(Path(toolkit.command(job)[3]).read_text()) for toolkit in toolkits("weft", "float32", parts=4)
    ]
    assert [(recipe["train"]["batch_tokens"], recipe["train"]["gradient_accumulation"]) for recipe in recipes] == [
        (4096, 1),
        (1024, 4),
    ]
