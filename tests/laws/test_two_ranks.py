"""Law 7: two ranks equal one rank on the joined batch, for every encoder and decoder, with DDP and FSDP."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file
from torch import Tensor
from torch.testing import assert_close

from laws.rank_processes import (
    build_strategy,
    count_gradient_sums,
    run_two_ranks,
    train,
    train_models,
    train_rank_specific_weight,
)
from laws.variants import MODELS
from weft.checkpoints.trained_model import model_weights
from weft.config.recipe import TrainingConfig
from weft.config.registry import REGISTRY
from weft.core.errors import ConfigError
from weft.models.interfaces import Decoder, Encoder
from weft.training.distributed import CPU_RANK
from weft.training.fsdp import check_shardable

MODEL_NAMES = [
    name
    for slot, role in (("encoder", Encoder), ("decoder", Decoder))
    for name in (f"{slot}-{component}" for component in REGISTRY[role])
    if name in MODELS
]

DDP = TrainingConfig(parallel="ddp", precision="float32")
FSDP = TrainingConfig(parallel="fsdp", precision="float32")
STRATEGIES = [pytest.param(DDP, id="ddp"), pytest.param(FSDP, id="fsdp", marks=pytest.mark.slow)]


@pytest.fixture(scope="module", params=STRATEGIES)
def trained_by_two_ranks(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> dict[str, dict[str, Tensor]]:
    """Return the weights of each model after training on two ranks."""
    folder = tmp_path_factory.mktemp("ranks")
    run_two_ranks(train_models, folder, request.param, MODEL_NAMES)
    return {name: load_file(folder / f"{name}.safetensors") for name in MODEL_NAMES}


@pytest.mark.parametrize("name", MODEL_NAMES)
def test_two_ranks_train_like_one(name: str, trained_by_two_ranks: dict[str, dict[str, Tensor]]) -> None:
    strategy = build_strategy(name, CPU_RANK, DDP)
    before = {key: weight.clone() for key, weight in model_weights(strategy.model).items()}
    sums = torch.tensor([[stats.loss, stats.count, stats.gradient_norm] for stats in train(strategy)])
    actual = trained_by_two_ranks[name]
    assert_close(actual.pop("sums"), sums, atol=1e-5, rtol=1e-5)
    expected = model_weights(strategy.model)
    assert_close(actual, expected, atol=1e-5, rtol=0)
    assert any((expected[key] - before[key]).abs().max() > 1e-3 for key in before)


@pytest.mark.slow
@pytest.mark.parametrize("settings", STRATEGIES)
def test_two_ranks_train_like_one_in_bfloat16(settings: TrainingConfig, tmp_path: Path) -> None:
    names = ["encoder-transformer", "decoder-transformer", "decoder-luong"]
    run_two_ranks(train_models, tmp_path, replace(settings, precision="bfloat16"), names)
    for name in names:
        expected = torch.tensor(
            [[stats.loss, stats.count, stats.gradient_norm] for stats in train(build_strategy(name, CPU_RANK, DDP))]
        )
        actual = load_file(tmp_path / f"{name}.safetensors")
        assert {weight.dtype for weight in actual.values()} == {torch.float32}
        assert_close(actual["sums"], expected, atol=0.1, rtol=0.05)


@pytest.mark.slow
@pytest.mark.parametrize("settings", STRATEGIES)
def test_gradients_are_reduced_in_last_batch_only(settings: TrainingConfig, tmp_path: Path) -> None:
    run_two_ranks(count_gradient_sums, tmp_path, settings, ["decoder-transformer"])
    first, second, last = load_file(tmp_path / "counts.safetensors")["counts"].tolist()
    assert first == second == 0
    assert last > 0


@pytest.mark.slow
def test_weight_used_by_one_rank_is_updated_on_all(tmp_path: Path) -> None:
    run_two_ranks(train_rank_specific_weight, tmp_path, DDP, ["decoder-transformer"])
    assert load_file(tmp_path / "more.safetensors")["more"].item() == 0.5  # the mean of 0 and 1


def test_unshardable_parameter_is_reported() -> None:
    with pytest.raises(ConfigError, match=r"train.parallel: fsdp cannot shard decoder.attention.score.strength"):
        check_shardable(MODELS["decoder-luong-score=cosine"]())
