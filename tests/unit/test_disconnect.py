"""A client that disconnects cancels its request."""

import asyncio
from collections.abc import Awaitable, Callable
from threading import Event
from typing import cast

import pytest
from starlette.requests import Request
from starlette.types import Message

from unit.test_batch_queue import UppercaseBackend, make_job, make_queue
from weft.inference.translator import Translator
from weft.serve.batch_queue import DecodeOptions
from weft.serve.dependencies import cancel_on_disconnect
from weft.serve.http_errors import ApiError
from weft.serve.limits import ServerLimits
from weft.serve.torch_backend import InspectionWorker


class Client:
    """A client that disconnects when `gone` is set."""

    def __init__(self) -> None:
        self.gone = asyncio.Event()
        self.request = Request({"type": "http"}, self.receive)
        self.messages = iter([{"type": "http.request", "body": b"", "more_body": False}])

    async def receive(self) -> Message:
        for message in self.messages:
            return message
        await self.gone.wait()
        return {"type": "http.disconnect"}


async def disconnect(client: Client, work: Awaitable[object]) -> None:
    request = asyncio.ensure_future(cancel_on_disconnect(client.request, work))
    await asyncio.sleep(0)
    client.gone.set()
    with pytest.raises(ApiError) as caught:
        await request
    assert caught.value.status_code == 499
    for _ in range(10):  # cancellation passes through several tasks
        await asyncio.sleep(0)


def test_connected_client_gets_the_result_or_the_error() -> None:
    async def answer() -> str:
        return "answer"

    async def refuse() -> str:
        raise ApiError(409, "no")

    async def run() -> None:
        assert await cancel_on_disconnect(Client().request, answer()) == "answer"
        with pytest.raises(ApiError, match="no"):
            await cancel_on_disconnect(Client().request, refuse())

    asyncio.run(run())


def test_lines_of_a_disconnected_client_are_not_translated() -> None:
    async def run() -> None:
        backend = UppercaseBackend()
        backend.allowed.clear()
        queue = make_queue(backend, ServerLimits(batch_size=1, queue=3))
        first, second = make_job("a"), make_job("b", "c", "d")
        queue.put(first)
        await asyncio.to_thread(backend.started.wait)
        queue.put(second)
        await disconnect(Client(), second.wait(60))
        third = make_job("e", "f", "g")
        queue.put(third)  # there is room in the queue again
        backend.allowed.set()
        await asyncio.gather(first.wait(60), third.wait(60))
        queue.close()
        assert backend.batches == [["a"], ["e"], ["f"], ["g"]]

    asyncio.run(run())


def test_inspection_of_a_disconnected_client_makes_room() -> None:
    gate, inspected = Event(), list[str]()

    def inspect(name: str) -> Callable[[Translator], str]:
        def slow(_model: Translator) -> str:
            gate.wait()
            inspected.append(name)
            return name

        return slow

    async def run() -> None:
        worker = InspectionWorker(lambda _: cast(Translator, None), ServerLimits(inspections=2))
        first = asyncio.ensure_future(worker.run(inspect("first"), DecodeOptions()))
        await asyncio.sleep(0)
        for _ in range(10):
            await disconnect(Client(), worker.run(inspect("left"), DecodeOptions()))
        last = asyncio.ensure_future(worker.run(inspect("last"), DecodeOptions()))
        await asyncio.sleep(0)
        gate.set()
        assert [await first, await last] == ["first", "last"]
        worker.close()
        assert inspected == ["first", "last"]

    asyncio.run(run())
