"""Law 2 for every objective of a decoder: padding changes nothing; a batch of two = the sum of two batches of one."""

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch.testing import assert_close

from laws.given import GIVEN
from laws.test_decoders import one_row
from laws.variants import MODELS, batch, variants
from weft.core.errors import UserError
from weft.data.batches import Batch
from weft.losses.objective import Loss, Objective
from weft.models.model import Model

PAIRS = batch((6, 3), (2, 5))
MODEL: Model = MODELS["decoder-luong"]()


def is_of_a_decoder(make: Callable[..., Objective]) -> bool:
    """Neither of a frame head nor of a trained teacher, which have laws of their own."""
    try:
        make(GIVEN)(MODEL, PAIRS)
    except (UserError, FileNotFoundError):
        return False
    return True


OBJECTIVES = {one.name: one.make for one in variants(Objective) if is_of_a_decoder(one.make)}


@pytest.fixture(params=OBJECTIVES)
def objective(request: pytest.FixtureRequest) -> Objective:
    made: Objective = OBJECTIVES[request.param](GIVEN)
    return made


def loss_of(objective: Objective, pairs: Batch, step: int | None, seed: int = 1) -> Loss:
    torch.manual_seed(seed)
    return objective(MODEL, pairs, step)


def sums(loss: Loss) -> dict[str, Any]:
    return {"total": loss.total, "count": loss.count, **loss.parts}


def test_the_objectives_are_found() -> None:
    assert OBJECTIVES.keys() >= {"cross-entropy", "sampled-softmax", "bucketed-vocabulary", "negative-sampling"}


@pytest.mark.parametrize("step", [None, 1])
def test_what_stands_in_the_padding_changes_nothing(objective: Objective, step: int | None) -> None:
    source, target = (side.with_data(side.data.masked_fill(~side.mask, 7)) for side in (PAIRS.source, PAIRS.target))
    scribbled = Batch(source, target, PAIRS.indices)
    assert not torch.equal(scribbled.target.data, PAIRS.target.data)
    found, wanted = (sums(loss_of(objective, pairs, step)) for pairs in (scribbled, PAIRS))
    assert_close(found, wanted, atol=1e-10, rtol=0)


@pytest.mark.parametrize("step", [None, 1])
def test_a_batch_of_two_is_the_sum_of_two_batches_of_one(objective: Objective, step: int | None) -> None:
    together = sums(loss_of(objective, PAIRS, step))
    if not torch.equal(together["total"], loss_of(objective, PAIRS, step, seed=2).total):
        return  # something is drawn, and for other batches otherwise
    alone = [sums(loss_of(objective, one_row(PAIRS, row), step)) for row in range(2)]
    for name, total in together.items():
        assert_close(total, alone[0][name] + alone[1][name], atol=1e-9, rtol=0, check_dtype=False)
