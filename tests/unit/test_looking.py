"""Looks inside a model: one at a time, and only so many that wait."""

import asyncio
from threading import Event
from typing import cast

import pytest

from weft.core.errors import UserError
from weft.inference.translator import Translator
from weft.serve.batch_queue import DecodeOptions
from weft.serve.http_errors import ApiError
from weft.serve.limits import ServerLimits
from weft.serve.torch_backend import InspectionWorker

MODEL = cast(Translator, None)  # nothing here looks at it


def ready(_manner: DecodeOptions) -> Translator:
    return MODEL


def statuses(found: list[str | BaseException]) -> list[object]:
    return [one.status_code if isinstance(one, ApiError) else one for one in found]


def test_only_so_many_wait_and_the_next_is_welcome_again() -> None:
    gate = Event()

    def slow(_model: Translator) -> str:
        gate.wait()
        return "seen"

    async def ask() -> None:
        looking = InspectionWorker(ready, ServerLimits(inspections=2))
        waiting = [asyncio.create_task(looking.run(slow, DecodeOptions())) for _ in range(3)]
        done, _ = await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
        assert statuses([one.exception() or "" for one in done]) == [429]
        gate.set()
        assert statuses(await asyncio.gather(*waiting, return_exceptions=True)) == ["seen", "seen", 429]
        assert await looking.run(slow, DecodeOptions()) == "seen"
        looking.close()

    asyncio.run(ask())


def test_what_takes_too_long_is_given_up() -> None:
    gate = Event()

    def slow(_model: Translator) -> str:
        gate.wait()
        return "seen"

    async def ask() -> None:
        looking = InspectionWorker(ready, ServerLimits(timeout=0))
        with pytest.raises(ApiError) as caught:
            await looking.run(slow, DecodeOptions())
        assert caught.value.status_code == 504
        gate.set()
        looking.close()

    asyncio.run(ask())


def test_what_a_model_has_not_is_told_in_words() -> None:
    def blind(_model: Translator) -> str:
        raise UserError("this model does not look at the source")

    async def ask() -> None:
        looking = InspectionWorker(ready, ServerLimits())
        with pytest.raises(ApiError, match="does not look") as caught:
            await looking.run(blind, DecodeOptions())
        assert caught.value.status_code == 409
        looking.close()

    asyncio.run(ask())
