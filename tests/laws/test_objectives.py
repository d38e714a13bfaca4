"""Law 2 for every decoder objective: padding changes nothing; a batch of two equals the sum of two batches of one."""

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch.testing import assert_close

from laws.objective_context import OBJECTIVE_CONTEXT
from laws.test_decoders import single_row
from laws.variants import MODELS, batch, variants
from weft.core.errors import UserError
from weft.data.batches import Batch
from weft.losses.objective import Loss, Objective
from weft.models.model import Model

PAIRS = batch((6, 3), (2, 5))
MODEL: Model = MODELS["decoder-luong"]()


def is_decoder_objective(make: Callable[..., Objective]) -> bool:
    """Return whether an objective trains a decoder without a teacher; the others have their own tests."""
    try:
        make(OBJECTIVE_CONTEXT)(MODEL, PAIRS)
    except (UserError, FileNotFoundError):
        return False
    return True


OBJECTIVES = {variant.name: variant.make for variant in variants(Objective) if is_decoder_objective(variant.make)}


@pytest.fixture(params=OBJECTIVES)
def objective(request: pytest.FixtureRequest) -> Objective:
    result: Objective = OBJECTIVES[request.param](OBJECTIVE_CONTEXT)
    return result


def seeded_loss(objective: Objective, pairs: Batch, step: int | None, seed: int = 1) -> Loss:
    torch.manual_seed(seed)
    return objective(MODEL, pairs, step)


def sums(loss: Loss) -> dict[str, Any]:
    return {"total": loss.total, "count": loss.count, **loss.parts}


def test_decoder_objectives_are_found() -> None:
    assert OBJECTIVES.keys() >= {"cross-entropy", "sampled-softmax", "bucketed-vocabulary", "negative-sampling"}


@pytest.mark.parametrize("step", [None, 1])
def test_padding_values_do_not_change_loss(objective: Objective, step: int | None) -> None:
    source, target = (side.with_data(side.data.masked_fill(~side.mask, 7)) for side in (PAIRS.source, PAIRS.target))
    changed = Batch(source, target, PAIRS.corpus_indices)
    assert not torch.equal(changed.target.data, PAIRS.target.data)
    actual, expected = (sums(seeded_loss(objective, pairs, step)) for pairs in (changed, PAIRS))
    assert_close(actual, expected, atol=1e-10, rtol=0)


@pytest.mark.parametrize("step", [None, 1])
def test_batch_of_two_is_sum_of_two_batches_of_one(objective: Objective, step: int | None) -> None:
    batched = sums(seeded_loss(objective, PAIRS, step))
    if not torch.equal(batched["total"], seeded_loss(objective, PAIRS, step, seed=2).total):
        return  # the objective samples, differently for other batches
    single = [sums(seeded_loss(objective, single_row(PAIRS, row), step)) for row in range(2)]
    for name, total in batched.items():
        assert_close(total, single[0][name] + single[1][name], atol=1e-9, rtol=0, check_dtype=False)
