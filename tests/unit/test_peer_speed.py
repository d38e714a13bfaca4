"""What is possible, and what a person may ask of the comparison with peers."""

from pathlib import Path

import pytest
import torch
import yaml
from benchmarks.peer_speed import toolkits
from benchmarks.peers.data import Pieces
from benchmarks.peers.possible import BLOCK, Places, Product, Step, in_blocks, mean_step, measure, products, whole
from benchmarks.peers.shapes import Transformer
from benchmarks.peers.tasks import Job, Training

from weft.core.errors import UserError

SHAPE = Transformer(layers=3, dim=8, hidden=20, heads=2, dropout=0.1)


def test_a_step_has_no_more_than_the_budget_on_its_longer_side() -> None:
    pieces = Pieces(Path(), pairs=10, vocabulary=50, source_tokens=80, target_tokens=120)
    assert mean_step(pieces, 100) == Step(sentences=8, source=8, target=12)
    assert mean_step(pieces, 5).sentences == 1


def test_the_operations_are_six_for_each_weight_and_token_and_those_of_attention() -> None:
    step, vocabulary = Step(sentences=4, source=5, target=7), 50
    sources, targets = 4 * 5, 4 * 7
    encoder = 3 * (4 * 8 * 8 + 2 * 8 * 20)
    decoder_of_targets, decoder_of_sources = 3 * (6 * 8 * 8 + 2 * 8 * 20), 3 * 2 * 8 * 8
    weights = sources * (encoder + decoder_of_sources) + targets * (decoder_of_targets + vocabulary * 8)
    attention = 3 * 4 * 2 * 8 * (5 * 5 + 7 * 7 + 7 * 5)  # layers, sentences, scores and values, width
    assert sum(product.operations for product in products(SHAPE, vocabulary, step)) == 6 * (weights + attention)


def test_blocks_give_what_the_whole_gives() -> None:
    x, weight = torch.randn(2 * BLOCK + 3, 4), torch.randn(4, 6)
    found = []
    for way in (whole, in_blocks):
        places = Places(torch.zeros(len(x), 6), torch.zeros_like(x), torch.zeros_like(weight))
        way(x, weight, places)
        found.append(places)
    torch.testing.assert_close(found[0].of_x, found[1].of_x)
    torch.testing.assert_close(found[0].of_weight, found[1].of_weight)


def test_rates_are_of_one_time() -> None:
    step = Step(sentences=2, source=3, target=5)
    parts = [Product(2, 10, 8, 8), Product(1, 5, 4, 3, batch=4)]
    found = measure(parts, step, torch.float32)
    operations = sum(product.operations for product in parts)
    assert found.gigaflops * 1e9 * step.tokens / found.tokens_per_second == pytest.approx(operations)


def test_toolkits_are_chosen_by_name_and_weft_once_for_each_precision() -> None:
    names = [toolkit.name for toolkit in toolkits("weft, opennmt", "float32,bfloat16")]
    assert names == ["weft", "weft bfloat16", "opennmt"]
    assert [toolkit.precision for toolkit in toolkits("joeynmt", "bfloat16")] == ["float32"]
    assert [toolkit.name for toolkit in toolkits("weft", "float32", parts=4)] == ["weft", "weft in 4 parts"]


def test_the_recipe_has_the_precision(tmp_path: Path) -> None:
    pieces = Pieces(tmp_path, pairs=10, vocabulary=50, source_tokens=80, target_tokens=120)
    job = Job(Training(SHAPE, updates=1), pieces, tmp_path)
    (toolkit,) = toolkits("weft", "bfloat16")
    settings = yaml.safe_load(Path(toolkit.command(job)[3]).read_text())
    assert settings["train"]["precision"] == "bfloat16"


def test_the_parts_make_the_same_update(tmp_path: Path) -> None:
    pieces = Pieces(tmp_path, pairs=10, vocabulary=50, source_tokens=80, target_tokens=120)
    job = Job(Training(SHAPE, updates=1, batch_tokens=4096), pieces, tmp_path)
    told = [yaml.safe_load(Path(one.command(job)[3]).read_text()) for one in toolkits("weft", "float32", parts=4)]
    assert [(one["train"]["batch_tokens"], one["train"]["gradient_accumulation"]) for one in told] == [
        (4096, 1),
        (1024, 4),
    ]


def test_a_toolkit_that_is_not_known_is_told() -> None:
    with pytest.raises(UserError, match="'fairseq' is no toolkit: write some of weft, opennmt, joeynmt"):
        toolkits("weft,fairseq", "float32")
    with pytest.raises(UserError, match="'float8' is no precision"):
        toolkits("weft", "float8")
