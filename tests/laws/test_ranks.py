"""Law 7: two ranks = one rank on the joined batch, for every family of models, as copies (DDP) and as shares (FSDP)."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file
from torch import Tensor
from torch.testing import assert_close

from laws.ranks import count_sums, on_two, spread_of, train, train_each, train_unlike
from laws.variants import MODELS
from weft.checkpoints.trained_model import model_weights
from weft.config.recipe import TrainingConfig
from weft.config.registry import REGISTRY
from weft.core.errors import ConfigError
from weft.models.slots import Decoder, Encoder
from weft.training.distributed import CPU_RANK
from weft.training.fsdp import check_shardable

FAMILIES = [
    name
    for slot, role in (("encoder", Encoder), ("decoder", Decoder))
    for name in (f"{slot}-{part}" for part in REGISTRY[role])
    if name in MODELS
]


DDP = TrainingConfig(parallel="ddp", precision="float32")
FSDP = TrainingConfig(parallel="fsdp", precision="float32")


WAYS = [pytest.param(DDP, id="ddp"), pytest.param(FSDP, id="fsdp", marks=pytest.mark.slow)]


@pytest.fixture(scope="module", params=WAYS)
def by_two(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, Tensor]]:
    """What two ranks have made of each model."""
    folder = tmp_path_factory.mktemp("ranks")
    on_two(train_each, folder, request.param, FAMILIES)
    return {name: load_file(folder / f"{name}.safetensors") for name in FAMILIES}


@pytest.mark.parametrize("name", FAMILIES)
def test_two_ranks_learn_what_one_learns(name: str, by_two: dict[str, dict[str, Tensor]]) -> None:
    spread = spread_of(name, CPU_RANK, DDP)
    before = {key: weight.clone() for key, weight in model_weights(spread.model).items()}
    sums = torch.tensor([[one.loss, one.count, one.gradient_norm] for one in train(spread)])
    found = by_two[name]
    assert_close(found.pop("sums"), sums, atol=1e-5, rtol=1e-5)
    wanted = model_weights(spread.model)
    assert_close(found, wanted, atol=1e-5, rtol=0)
    assert any((wanted[key] - before[key]).abs().max() > 1e-3 for key in before)


@pytest.mark.slow
@pytest.mark.parametrize("settings", WAYS)
def test_two_ranks_learn_about_the_same_in_bfloat16(settings: TrainingConfig, tmp_path: Path) -> None:
    names = ["encoder-transformer", "decoder-transformer", "decoder-luong"]
    on_two(train_each, tmp_path, replace(settings, precision="bfloat16"), names)
    for name in names:
        wanted = torch.tensor(
            [[one.loss, one.count, one.gradient_norm] for one in train(spread_of(name, CPU_RANK, DDP))]
        )
        found = load_file(tmp_path / f"{name}.safetensors")
        assert {weight.dtype for weight in found.values()} == {torch.float32}
        assert_close(found["sums"], wanted, atol=0.1, rtol=0.05)


@pytest.mark.slow
@pytest.mark.parametrize("settings", WAYS)
def test_gradients_are_sent_with_the_last_batch_only(settings: TrainingConfig, tmp_path: Path) -> None:
    on_two(count_sums, tmp_path, settings, ["decoder-transformer"])
    first, second, last = load_file(tmp_path / "counts.safetensors")["counts"].tolist()
    assert first == second == 0
    assert last > 0


@pytest.mark.slow
def test_a_weight_that_only_one_rank_uses_is_learned_by_all(tmp_path: Path) -> None:
    on_two(train_unlike, tmp_path, DDP, ["decoder-transformer"])
    assert load_file(tmp_path / "more.safetensors")["more"].item() == 0.5  # the mean of 0 and 1


def test_what_cannot_be_parted_is_told() -> None:
    with pytest.raises(ConfigError, match=r"train.parallel: fsdp cannot shard decoder.attention.score.strength"):
        check_shardable(MODELS["decoder-luong-score=cosine"]())
