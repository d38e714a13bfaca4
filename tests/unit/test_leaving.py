"""Whoever asked may go away: then what was asked for is given up."""

import asyncio
from collections.abc import Awaitable, Callable
from threading import Event
from typing import cast

import pytest
from starlette.requests import Request
from starlette.types import Message

from unit.test_lane import Shouting, lane_of, order
from weft.inference.translator import Translator
from weft.serve.batch_queue import DecodeOptions
from weft.serve.dependencies import cancel_on_disconnect
from weft.serve.http_errors import ApiError
from weft.serve.limits import ServerLimits
from weft.serve.torch_backend import InspectionWorker


class Client:
    """Asks, stays, and leaves when it is told to."""

    def __init__(self) -> None:
        self.gone = asyncio.Event()
        self.request = Request({"type": "http"}, self.receive)
        self.said = iter([{"type": "http.request", "body": b"", "more_body": False}])

    async def receive(self) -> Message:
        for message in self.said:
            return message
        await self.gone.wait()
        return {"type": "http.disconnect"}


async def leaves(client: Client, work: Awaitable[object]) -> None:
    asking = asyncio.ensure_future(cancel_on_disconnect(client.request, work))
    await asyncio.sleep(0)
    client.gone.set()
    with pytest.raises(ApiError) as caught:
        await asking
    assert caught.value.status_code == 499
    for _ in range(10):  # the news goes from one to the next
        await asyncio.sleep(0)


def test_who_stays_is_answered_or_refused() -> None:
    async def answer() -> str:
        return "answer"

    async def refuse() -> str:
        raise ApiError(409, "no")

    async def run() -> None:
        assert await cancel_on_disconnect(Client().request, answer()) == "answer"
        with pytest.raises(ApiError, match="no"):
            await cancel_on_disconnect(Client().request, refuse())

    asyncio.run(run())


def test_lines_of_who_has_left_are_not_translated() -> None:
    async def run() -> None:
        engine = Shouting()
        engine.let.clear()
        lane = lane_of(engine, ServerLimits(batch_size=1, queue=3))
        first, second = order("a"), order("b", "c", "d")
        lane.put(first)
        await asyncio.to_thread(engine.begun.wait)
        lane.put(second)
        await leaves(Client(), second.wait(60))
        third = order("e", "f", "g")
        lane.put(third)  # there is room again
        engine.let.set()
        await asyncio.gather(first.wait(60), third.wait(60))
        lane.close()
        assert engine.batches == [["a"], ["e"], ["f"], ["g"]]

    asyncio.run(run())


def test_a_look_of_who_has_left_makes_room() -> None:
    gate, seen = Event(), list[str]()

    def look(name: str) -> Callable[[Translator], str]:
        def slow(_model: Translator) -> str:
            gate.wait()
            seen.append(name)
            return name

        return slow

    async def run() -> None:
        looking = InspectionWorker(lambda _: cast(Translator, None), ServerLimits(inspections=2))
        first = asyncio.ensure_future(looking.run(look("first"), DecodeOptions()))
        await asyncio.sleep(0)
        for _ in range(10):
            await leaves(Client(), looking.run(look("left"), DecodeOptions()))
        last = asyncio.ensure_future(looking.run(look("last"), DecodeOptions()))
        await asyncio.sleep(0)
        gate.set()
        assert [await first, await last] == ["first", "last"]
        looking.close()
        assert seen == ["first", "last"]

    asyncio.run(run())
