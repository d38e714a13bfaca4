"""The torch engine of a served model: loaded when it is needed, and gone when it is not."""

import asyncio
import gc
import logging
import weakref

import pytest

from unit.test_lane import order
from unit.untrained import untrained
from weft.core.errors import UserError
from weft.decoding.constraints.request import Request
from weft.inference.translator import Translator
from weft.serve.batch_queue import BatchQueue, DecodeOptions
from weft.serve.http_errors import ApiError
from weft.serve.limits import ServerLimits
from weft.serve.torch_backend import TorchBackend


def damaged() -> Translator:
    raise UserError("/tmp/weft-serve-1/weights.safetensors: is damaged")


def test_where_it_cannot_be_loaded_nothing_of_the_inside_is_told(caplog: pytest.LogCaptureFixture) -> None:
    async def ask() -> None:
        lane, one = (
            BatchQueue(TorchBackend(damaged, None), ServerLimits(), 1, False, lambda _: None),
            order("a", options=DecodeOptions(beam=2)),
        )
        lane.put(one)
        with pytest.raises(ApiError) as caught:
            await one.wait(60)
        assert caught.value.status_code == 500
        assert "weights" not in str(caught.value)
        lane.close()

    with caplog.at_level(logging.ERROR, "weft.serve"):
        asyncio.run(ask())
    assert "is damaged" in caplog.text  # whoever runs the server sees why
    with pytest.raises(UserError):
        TorchBackend(damaged, None).translator()  # as at the start, where it is told as it is


def test_a_model_that_is_closed_takes_no_memory() -> None:
    models = [untrained("transformer")]
    full, model = TorchBackend(models.pop, None), weakref.ref(models[0].trained.model)
    full(DecodeOptions(), [Request("a")], None)
    assert full.is_loaded
    assert model() is not None
    gc.disable()  # at once, and not when somebody cleans up
    try:
        full.close()
        assert model() is None
    finally:
        gc.enable()
