"""The torch engine of a served model: loaded when it is needed, and gone when it is not."""

import asyncio
import gc
import logging
import weakref

import pytest

from unit.test_lane import order
from unit.untrained import untrained
from weft.control.request import Request
from weft.core.errors import UserError
from weft.engine.translator import Translator
from weft.serve.full import Full
from weft.serve.lane import Lane
from weft.serve.limits import Limits
from weft.serve.manner import Manner
from weft.serve.refusal import RefusedError


def damaged() -> Translator:
    raise UserError("/tmp/weft-serve-1/weights.safetensors: is damaged")


def test_where_it_cannot_be_loaded_nothing_of_the_inside_is_told(caplog: pytest.LogCaptureFixture) -> None:
    async def ask() -> None:
        lane, one = Lane(Full(damaged, None), Limits(), 1, False, lambda _: None), order("a", manner=Manner(beam=2))
        lane.put(one)
        with pytest.raises(RefusedError) as caught:
            await one.wait(60)
        assert caught.value.status == 500
        assert "weights" not in str(caught.value)
        lane.close()

    with caplog.at_level(logging.ERROR, "weft.serve"):
        asyncio.run(ask())
    assert "is damaged" in caplog.text  # whoever runs the server sees why
    with pytest.raises(UserError):
        Full(damaged, None).translator()  # as at the start, where it is told as it is


def test_a_model_that_is_closed_takes_no_memory() -> None:
    models = [untrained("transformer")]
    full, model = Full(models.pop, None), weakref.ref(models[0].trained.model)
    full(Manner(), [Request("a")], None)
    assert full.is_loaded
    assert model() is not None
    gc.disable()  # at once, and not when somebody cleans up
    try:
        full.close()
        assert model() is None
    finally:
        gc.enable()
