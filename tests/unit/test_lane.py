"""The queue in front of an engine: what waits together goes together, and nobody suffers for another."""

import asyncio
import logging
from collections.abc import Sequence
from threading import Event

import pytest

from weft.core.errors import UserError
from weft.decoding.constraints.request import Request
from weft.inference.translation import Alternative, Translation
from weft.serve.batch_queue import (
    TEXT_ONLY,
    BatchQueue,
    DecodeOptions,
    JobCancelledError,
    PrefixCallback,
    TranslationJob,
)
from weft.serve.http_errors import ApiError
from weft.serve.limits import ServerLimits

WAIT = 60.0  # far more than is needed


class Shouting:
    """An engine that answers in capital letters, when it is let; "bad" is a mistake of whoever asks, "broken" ours."""

    def __init__(self) -> None:
        self.batches: list[list[str]] = []
        self.used_options: list[DecodeOptions] = []
        self.let, self.begun = Event(), Event()
        self.let.set()

    def __call__(
        self, options: DecodeOptions, requests: Sequence[Request], on_prefix: PrefixCallback | None
    ) -> list[Translation]:
        self.begun.set()
        self.let.wait()
        self.batches.append([request.text for request in requests])
        self.used_options.append(options)
        if on_prefix is not None:
            on_prefix(["a"], "a")
        for number, request in enumerate(requests, 1):
            if request.text == "bad":
                raise UserError(f"line {number}: cannot be")
            if request.text == "broken":
                raise RuntimeError("a secret")
        return [said(request.text) for request in requests]


def said(text: str) -> Translation:
    return Translation(text, (Alternative(text.upper(), 0.0, (), (), finished=True),))


def order(*texts: str, options: DecodeOptions = TEXT_ONLY, on_prefix: PrefixCallback | None = None) -> TranslationJob:
    return TranslationJob([Request(text) for text in texts], options, on_prefix)


def lane_of(engine: Shouting, limits: ServerLimits | None = None, sampling: bool = False) -> BatchQueue:
    return BatchQueue(engine, limits or ServerLimits(), 1, sampling, lambda _: None)


async def texts(one: TranslationJob) -> list[str]:
    return [translation.text for translation in await one.wait(WAIT)]


def test_each_order_gets_its_own_lines_in_its_order() -> None:
    async def run() -> None:
        lane = lane_of(Shouting(), ServerLimits(batch_size=3))
        orders = [order(*(f"{number}-{place}" for place in range(number % 5))) for number in range(40)]
        for one in orders:
            lane.put(one)
        for number, one in enumerate(orders):
            assert await texts(one) == [f"{number}-{place}" for place in range(number % 5)]
        lane.close()

    asyncio.run(run())


def test_what_waits_together_goes_together() -> None:
    async def run() -> None:
        engine = Shouting()
        engine.let.clear()
        lane, wide = lane_of(engine, ServerLimits(batch_size=3)), DecodeOptions(beam=2)
        orders = [order("first")]
        lane.put(orders[0])
        await asyncio.to_thread(engine.begun.wait)
        orders += [order("a", "b"), order("c", options=wide), order("d"), order("e", options=wide), order("f", "g")]
        for one in orders[1:]:
            lane.put(one)
        assert lane.waiting == 7
        engine.let.set()
        for one in orders:
            await texts(one)
        assert engine.batches == [["first"], ["a", "b", "d"], ["c", "e"], ["f", "g"]]
        assert engine.used_options == [TEXT_ONLY, TEXT_ONLY, wide, TEXT_ONLY]
        lane.close()

    asyncio.run(run())


def test_where_outputs_are_drawn_an_order_is_a_batch() -> None:
    async def run() -> None:
        engine = Shouting()
        engine.let.clear()
        lane = lane_of(engine, ServerLimits(batch_size=2), sampling=True)
        orders = [order("a"), order("b", "c", "d"), order("e")]
        for one in orders:
            lane.put(one)
        engine.let.set()
        for one in orders:
            await texts(one)
        assert engine.batches == [["a"], ["b", "c", "d"], ["e"]]
        lane.close()

    asyncio.run(run())


def test_a_full_queue_refuses_but_an_empty_one_takes_any_order() -> None:
    async def run() -> None:
        engine = Shouting()
        engine.let.clear()
        lane = lane_of(engine, ServerLimits(queue=3, batch_size=1))
        orders = [order("a")]
        lane.put(orders[0])
        await asyncio.to_thread(engine.begun.wait)
        orders.append(order("b", "c", "d", "e", "f"))
        lane.put(orders[1])
        with pytest.raises(ApiError) as caught:
            lane.put(order("g"))
        assert caught.value.status_code == 429
        engine.let.set()
        assert [await texts(one) for one in orders] == [["A"], ["B", "C", "D", "E", "F"]]
        lane.close()

    asyncio.run(run())


def test_what_would_wait_too_long_is_refused_at_once() -> None:
    async def run() -> None:
        engine = Shouting()
        lane = lane_of(engine, ServerLimits(timeout=1, batch_size=1))
        engine.let.clear()
        slow = order("slow")
        lane.put(slow)
        await asyncio.to_thread(engine.begun.wait)
        await asyncio.sleep(0.3)  # so long at least does a line take
        engine.let.set()
        await texts(slow)
        engine.begun.clear()
        engine.let.clear()
        orders = [order("a"), order("b")]
        lane.put(orders[0])
        await asyncio.to_thread(engine.begun.wait)
        lane.put(orders[1])
        with pytest.raises(ApiError) as caught:
            lane.put(order(*"abcdefghijklmnopqrstuvwxyz"))
        assert caught.value.status_code == 429
        engine.let.set()
        assert [await texts(one) for one in orders] == [["A"], ["B"]]
        lane.close()

    asyncio.run(run())


def test_a_line_that_cannot_be_spoils_no_other(caplog: pytest.LogCaptureFixture) -> None:
    async def run() -> None:
        engine = Shouting()
        engine.let.clear()
        lane = lane_of(engine)
        good, bad, broken = order("a", "b"), order("c", "bad"), order("broken")
        for one in (order("first"), good, bad, broken):
            lane.put(one)
        engine.let.set()
        assert await texts(good) == ["A", "B"]
        with pytest.raises(ApiError, match="line 2: cannot be") as caught:
            await bad.wait(WAIT)
        assert caught.value.status_code == 409
        with pytest.raises(ApiError, match="internal server error") as caught:
            await broken.wait(WAIT)
        assert caught.value.status_code == 500
        lane.close()

    with caplog.at_level(logging.CRITICAL, "weft.serve"):
        asyncio.run(run())


def test_what_nobody_waits_for_is_not_translated() -> None:
    async def run() -> None:
        engine = Shouting()
        engine.let.clear()
        lane = lane_of(engine, ServerLimits(batch_size=1))
        first, late = order("a"), order("b")
        lane.put(first)
        await asyncio.to_thread(engine.begun.wait)
        lane.put(late)
        with pytest.raises(TimeoutError):
            await late.wait(0.0)
        engine.let.set()
        assert await texts(first) == ["A"]
        lane.close()
        assert engine.batches == [["a"]]

    asyncio.run(run())


def test_closing_finishes_what_was_accepted() -> None:
    async def run() -> None:
        engine = Shouting()
        engine.let.clear()
        lane = lane_of(engine, ServerLimits(batch_size=1))
        orders = [order(letter) for letter in "abcde"]
        for one in orders:
            lane.put(one)
        closing = asyncio.create_task(asyncio.to_thread(lane.close))
        await asyncio.sleep(0)
        engine.let.set()
        assert [await texts(one) for one in orders] == [["A"], ["B"], ["C"], ["D"], ["E"]]
        await closing

    asyncio.run(run())


def test_a_listener_who_has_left_ends_the_work() -> None:
    async def run() -> None:
        def left(_pieces: list[str], _text: str) -> None:
            raise JobCancelledError

        lane = lane_of(Shouting())
        one, other = order("a", on_prefix=left), order("b")
        lane.put(one)
        lane.put(other)
        assert await texts(other) == ["B"]
        with pytest.raises(TimeoutError):
            await one.wait(0.0)
        lane.close()

    asyncio.run(run())
