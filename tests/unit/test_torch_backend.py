"""The torch backend of the server: loading and unloading, and the bounded queue of inspections."""

import asyncio
import gc
import logging
import weakref
from threading import Event
from typing import cast

import pytest

from unit.test_batch_queue import make_job
from unit.translators import untrained_translator
from weft.core.errors import UserError
from weft.decoding.constraints.request import Request
from weft.inference.translator import Translator
from weft.serve.batch_queue import BatchQueue, DecodeOptions
from weft.serve.http_errors import ApiError
from weft.serve.limits import ServerLimits
from weft.serve.torch_backend import InspectionWorker, TorchBackend


def fail_to_load() -> Translator:
    raise UserError("/tmp/weft-serve-1/weights.safetensors: is damaged")


def test_loading_error_is_logged_but_not_sent_to_the_client(caplog: pytest.LogCaptureFixture) -> None:
    async def run() -> None:
        queue, job = (
            BatchQueue(TorchBackend(fail_to_load, None), ServerLimits(), 1, False, lambda _: None),
            make_job("a", options=DecodeOptions(beam=2)),
        )
        queue.put(job)
        with pytest.raises(ApiError) as caught:
            await job.wait(60)
        assert caught.value.status_code == 500
        assert "weights" not in str(caught.value)
        queue.close()

    with caplog.at_level(logging.ERROR, "weft.serve"):
        asyncio.run(run())
    assert "is damaged" in caplog.text  # the operator sees the cause
    with pytest.raises(UserError):
        TorchBackend(fail_to_load, None).translator()  # at startup the error itself is raised


def test_closed_model_is_freed() -> None:
    models = [untrained_translator("transformer")]
    backend, model = TorchBackend(models.pop, None), weakref.ref(models[0].trained.model)
    backend(DecodeOptions(), [Request("a")], None)
    assert backend.is_loaded
    assert model() is not None
    gc.disable()  # freed at once, without the garbage collector
    try:
        backend.close()
        assert model() is None
    finally:
        gc.enable()


MODEL = cast(Translator, None)  # never used


def load(_options: DecodeOptions) -> Translator:
    return MODEL


def statuses(results: list[str | BaseException]) -> list[object]:
    return [result.status_code if isinstance(result, ApiError) else result for result in results]


def test_full_inspection_queue_refuses_until_there_is_room() -> None:
    gate = Event()

    def slow(_model: Translator) -> str:
        gate.wait()
        return "seen"

    async def run() -> None:
        worker = InspectionWorker(load, ServerLimits(inspections=2))
        waiting = [asyncio.create_task(worker.run(slow, DecodeOptions())) for _ in range(3)]
        done, _ = await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
        assert statuses([task.exception() or "" for task in done]) == [429]
        gate.set()
        assert statuses(await asyncio.gather(*waiting, return_exceptions=True)) == ["seen", "seen", 429]
        assert await worker.run(slow, DecodeOptions()) == "seen"
        worker.close()

    asyncio.run(run())


def test_slow_inspection_times_out() -> None:
    gate = Event()

    def slow(_model: Translator) -> str:
        gate.wait()
        return "seen"

    async def run() -> None:
        worker = InspectionWorker(load, ServerLimits(timeout=0))
        with pytest.raises(ApiError) as caught:
            await worker.run(slow, DecodeOptions())
        assert caught.value.status_code == 504
        gate.set()
        worker.close()

    asyncio.run(run())


def test_unsupported_inspection_is_reported() -> None:
    def unsupported(_model: Translator) -> str:
        raise UserError("this model does not look at the source")

    async def run() -> None:
        worker = InspectionWorker(load, ServerLimits())
        with pytest.raises(ApiError, match="does not look") as caught:
            await worker.run(unsupported, DecodeOptions())
        assert caught.value.status_code == 409
        worker.close()

    asyncio.run(run())
