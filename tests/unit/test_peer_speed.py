"""Comparison with other toolkits: the matrix product limit and the command-line options."""

from pathlib import Path

import pytest
import torch
import yaml
from benchmarks.peer_speed import toolkits
from benchmarks.peers.data import Pieces
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
from benchmarks.peers.shapes import Transformer
from benchmarks.peers.toolkit import Job, Training

from weft.core.errors import UserError

SHAPE = Transformer(layers=3, dim=8, hidden=20, heads=2, dropout=0.1)


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
    assert sum(product.operations for product in step_matmuls(SHAPE, vocabulary, step)) == 6 * (weights + attention)


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
    job = Job(Training(SHAPE, updates=1), pieces, tmp_path)
    (toolkit,) = toolkits("weft", "bfloat16")
    settings = yaml.safe_load(Path(toolkit.command(job)[3]).read_text())
    assert settings["train"]["precision"] == "bfloat16"


def test_accumulated_batches_have_the_same_size(tmp_path: Path) -> None:
    pieces = Pieces(tmp_path, pairs=10, vocabulary=50, source_tokens=80, target_tokens=120)
    job = Job(Training(SHAPE, updates=1, batch_tokens=4096), pieces, tmp_path)
    recipes = [
        yaml.safe_load(Path(toolkit.command(job)[3]).read_text()) for toolkit in toolkits("weft", "float32", parts=4)
    ]
    assert [(recipe["train"]["batch_tokens"], recipe["train"]["gradient_accumulation"]) for recipe in recipes] == [
        (4096, 1),
        (1024, 4),
    ]


def test_unknown_toolkit_is_reported() -> None:
    with pytest.raises(UserError, match="'fairseq' is no toolkit: write some of weft, opennmt, joeynmt"):
        toolkits("weft,fairseq", "float32")
    with pytest.raises(UserError, match="'float8' is no precision"):
        toolkits("weft", "float8")
