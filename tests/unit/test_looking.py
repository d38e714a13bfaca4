"""Looks inside a model: one at a time, and only so many that wait."""

import asyncio
from threading import Event
from typing import cast

import pytest

from weft.core.errors import UserError
from weft.engine.translator import Translator
from weft.serve.limits import Limits
from weft.serve.looking import Looking
from weft.serve.manner import Manner
from weft.serve.refusal import RefusedError

MODEL = cast(Translator, None)  # nothing here looks at it


def ready(_manner: Manner) -> Translator:
    return MODEL


def statuses(found: list[str | BaseException]) -> list[object]:
    return [one.status if isinstance(one, RefusedError) else one for one in found]


def test_only_so_many_wait_and_the_next_is_welcome_again() -> None:
    gate = Event()

    def slow(_model: Translator) -> str:
        gate.wait()
        return "seen"

    async def ask() -> None:
        looking = Looking(ready, Limits(looks=2))
        waiting = [asyncio.create_task(looking(slow, Manner())) for _ in range(3)]
        done, _ = await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
        assert statuses([one.exception() or "" for one in done]) == [429]
        gate.set()
        assert statuses(await asyncio.gather(*waiting, return_exceptions=True)) == ["seen", "seen", 429]
        assert await looking(slow, Manner()) == "seen"
        looking.close()

    asyncio.run(ask())


def test_what_takes_too_long_is_given_up() -> None:
    gate = Event()

    def slow(_model: Translator) -> str:
        gate.wait()
        return "seen"

    async def ask() -> None:
        looking = Looking(ready, Limits(seconds=0))
        with pytest.raises(RefusedError) as caught:
            await looking(slow, Manner())
        assert caught.value.status == 504
        gate.set()
        looking.close()

    asyncio.run(ask())


def test_what_a_model_has_not_is_told_in_words() -> None:
    def blind(_model: Translator) -> str:
        raise UserError("this model does not look at the source")

    async def ask() -> None:
        looking = Looking(ready, Limits())
        with pytest.raises(RefusedError, match="does not look") as caught:
            await looking(blind, Manner())
        assert caught.value.status == 409
        looking.close()

    asyncio.run(ask())
