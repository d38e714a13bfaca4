"""Which numbers are chosen, and that gradients too large for float16 are computed at a smaller scale."""

from collections.abc import Iterator
from dataclasses import replace
from itertools import count

import pytest
import torch

from laws.given import GIVEN
from laws.variants import MODELS, batch
from weft.config.recipe import Recipe, TrainingConfig
from weft.config.registry import REGISTRY
from weft.config.serialization import from_dict
from weft.core.errors import ConfigError
from weft.data.batches import Batch
from weft.losses.cross_entropy import CrossEntropyLoss
from weft.losses.objective import Loss, Objective
from weft.models.model import Model
from weft.optim.optimizers import SGD
from weft.training.distributed import CPU_RANK, RankGroup
from weft.training.mixed_precision import (
    MixedPrecisionStrategy,
    check_precision,
    choose_precision,
    resolve_precision,
    supports_bfloat16,
    with_precision,
)
from weft.training.progress import PlainDisplay
from weft.training.strategy import TrainingStrategy
from weft.training.train_step import NonFiniteError, prefetch, train_step

CPU, GPU = torch.device("cpu"), torch.device("cuda")
PAIRS = batch((6, 3), (4, 4))
WIDE = {"source": {"dim": 64}, "target": {"dim": 64}}


def recipe(**model: object) -> Recipe:
    found: Recipe = from_dict({"model": {**WIDE, **model}}, Recipe, REGISTRY)
    return found


@pytest.fixture
def features(monkeypatch: pytest.MonkeyPatch) -> dict[str, bool]:
    """What the CPU is said to have."""
    there: dict[str, bool] = {}
    monkeypatch.setattr(torch.cpu, "get_capabilities", lambda: there)
    return there


def test_the_choice_follows_from_the_machine_and_the_model(features: dict[str, bool]) -> None:
    assert choose_precision(recipe(), CPU).precision == "float32"
    features["avx512_bf16"] = True
    assert choose_precision(recipe(), CPU) == (
        "bfloat16",
        "this CPU has instructions for it; weights are kept in float32",
    )
    assert "width" in choose_precision(recipe(source={"dim": 32}, target={"dim": 32}), CPU).reason
    assert "Transformers" in choose_precision(recipe(encoder={"type": "recurrent"}), CPU).reason
    assert choose_precision(recipe(), torch.device("mps")).precision == "float32"


def test_bfloat16_that_will_be_slow_is_told(features: dict[str, bool], capsys: pytest.CaptureFixture[str]) -> None:
    asked = with_precision(recipe(), "bfloat16")
    assert resolve_precision(asked, CPU_RANK, PlainDisplay()) is asked
    assert "many times as slow as float32" in capsys.readouterr().err
    features["amx_bf16"] = True
    resolve_precision(asked, CPU_RANK, PlainDisplay())
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize(("capability", "has"), [((7, 5), False), ((8, 0), True), ((9, 0), True)])
def test_a_gpu_is_asked_for_its_capability(
    capability: tuple[int, int], has: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(torch.cuda, "get_device_capability", lambda _: capability)
    assert supports_bfloat16(GPU) is has


def test_float16_is_for_one_kind_of_device_and_not_for_shares() -> None:
    half = replace(Recipe(), train=TrainingConfig(precision="float16"))
    with pytest.raises(ConfigError, match="float16 needs a CUDA GPU, but this run computes on cpu"):
        check_precision(half, CPU_RANK)
    check_precision(half, RankGroup(GPU))
    with pytest.raises(ConfigError, match=r"float16 needs loss scaling, which fsdp does not support"):
        check_precision(replace(half, train=replace(half.train, parallel="fsdp")), RankGroup(GPU, world_size=2))


class Times:
    """An objective made larger."""

    def __init__(self, factor: float):
        self.factor = factor

    def __call__(self, model: Model, batch: Batch, step: int | None = None) -> Loss:
        loss = CrossEntropyLoss(GIVEN)(model, batch, step)
        return Loss(loss.total * self.factor, loss.count, loss.parts)


def after_an_update(model: Model, objective: Objective, kind: torch.dtype) -> list[torch.Tensor]:
    plain = TrainingStrategy(CPU_RANK, model, objective)
    spread = (
        plain if kind == torch.float32 else MixedPrecisionStrategy(CPU_RANK, model, objective, kind, TrainingStrategy)
    )
    train_step(spread, SGD(model.parameters()), [PAIRS], step=1, learning_rate=0.1, clip_norm=1.0)
    return [one.detach() for one in model.parameters()]


def test_gradients_too_large_for_float16_are_computed_at_a_smaller_scale() -> None:
    large = Times(2.0**15)
    wanted, found = (
        after_an_update(MODELS["decoder-transformer"]().float(), large, kind) for kind in (torch.float32, torch.float16)
    )
    torch.testing.assert_close(found, wanted, atol=1e-3, rtol=0)


def test_a_loss_that_no_scale_helps_ends_the_run() -> None:
    model = MODELS["decoder-transformer"]().float()
    with pytest.raises(NonFiniteError):
        after_an_update(model, Times(float("inf")), torch.float16)
    assert all(one.grad is None for one in model.parameters())


def test_gradients_of_several_batches_are_added_in_float32() -> None:
    model = MODELS["decoder-transformer"]().float()
    spread = MixedPrecisionStrategy(CPU_RANK, model, CrossEntropyLoss(GIVEN), torch.bfloat16, TrainingStrategy)
    spread.backward(PAIRS, 1, last=True, scale=1.0)
    once = [one.grad for one in model.parameters() if one.grad is not None]
    model.zero_grad()
    for number in (1, 2, 3):
        spread.backward(PAIRS, 1, last=number == 3, scale=1.0)
    thrice = [one.grad for one in model.parameters() if one.grad is not None]
    torch.testing.assert_close(thrice, [one + one + one for one in once], atol=0, rtol=0)


def test_with_several_ranks_they_are_rounded_no_more_often_with_more_batches() -> None:
    """Once for the ranks' means, which are of 16 bits, and once with the last batch."""
    model = MODELS["decoder-transformer"]().float()
    spread = MixedPrecisionStrategy(
        RankGroup(CPU, world_size=2), model, CrossEntropyLoss(GIVEN), torch.bfloat16, TrainingStrategy
    )
    spread.backward(PAIRS, 1, last=True, scale=1.0)
    once = [one.grad for one in model.parameters() if one.grad is not None]
    model.zero_grad()
    for number in range(1, 100):
        spread.backward(PAIRS, 1, last=number == 99, scale=1.0)
    often = [one.grad for one in model.parameters() if one.grad is not None]
    torch.testing.assert_close(often, [99 * one for one in once], atol=0, rtol=2 * 2**-8)


def test_what_is_made_ahead_comes_in_order() -> None:
    made: list[int] = []

    def numbers() -> Iterator[int]:
        for number in count():
            made.append(number)
            yield number

    taken = prefetch(numbers(), 2)
    assert [next(taken) for _ in range(5)] == [0, 1, 2, 3, 4]
    del taken  # which waits for the thread
    assert made == [0, 1, 2, 3, 4, 5, 6]


def test_a_mistake_of_the_thread_is_heard() -> None:
    taken = prefetch((1 // number for number in (1, 0, 1, 1)), 2)
    assert next(taken) == 1
    with pytest.raises(ZeroDivisionError):
        next(taken)


def test_what_goes_to_a_gpu_is_pinned_and_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    pinned: list[torch.Tensor] = []
    sent: list[tuple[object, object]] = []

    def pin(tensor: torch.Tensor) -> torch.Tensor:
        pinned.append(tensor)
        return tensor

    def to(tensor: torch.Tensor, device: object, non_blocking: bool = False) -> torch.Tensor:
        sent.append((device, non_blocking))
        return tensor

    monkeypatch.setattr(torch.Tensor, "pin_memory", pin)
    monkeypatch.setattr(torch.Tensor, "to", to)
    PAIRS.to(GPU)
    assert len(pinned) == 4
    assert sent == [(GPU, True)] * 4
    PAIRS.to(CPU)
    assert len(pinned) == 4
