"""The queue in front of an engine: what waits together goes together, and nobody suffers for another."""

import asyncio
import logging
from collections.abc import Sequence
from threading import Event

import pytest

from weft.control.request import Request
from weft.core.errors import UserError
from weft.engine.translation import Alternative, Translation
from weft.serve.lane import Lane
from weft.serve.limits import Limits
from weft.serve.manner import TEXT_ALONE, Manner
from weft.serve.order import DroppedError, Order, Tell
from weft.serve.refusal import RefusedError

WAIT = 60.0  # far more than is needed


class Shouting:
    """An engine that answers in capital letters, when it is let; "bad" is a mistake of whoever asks, "broken" ours."""

    def __init__(self) -> None:
        self.batches: list[list[str]] = []
        self.manners: list[Manner] = []
        self.let, self.begun = Event(), Event()
        self.let.set()

    def __call__(self, manner: Manner, requests: Sequence[Request], tell: Tell | None) -> list[Translation]:
        self.begun.set()
        self.let.wait()
        self.batches.append([request.text for request in requests])
        self.manners.append(manner)
        if tell is not None:
            tell(["a"], "a")
        for number, request in enumerate(requests, 1):
            if request.text == "bad":
                raise UserError(f"line {number}: cannot be")
            if request.text == "broken":
                raise RuntimeError("a secret")
        return [said(request.text) for request in requests]


def said(text: str) -> Translation:
    return Translation(text, (Alternative(text.upper(), 0.0, (), (), finished=True),))


def order(*texts: str, manner: Manner = TEXT_ALONE, tell: Tell | None = None) -> Order:
    return Order([Request(text) for text in texts], manner, tell)


def lane_of(engine: Shouting, limits: Limits | None = None, draws: bool = False) -> Lane:
    return Lane(engine, limits or Limits(), 1, draws, lambda _: None)


async def texts(one: Order) -> list[str]:
    return [translation.text for translation in await one.wait(WAIT)]


def test_each_order_gets_its_own_lines_in_its_order() -> None:
    async def run() -> None:
        lane = lane_of(Shouting(), Limits(batch=3))
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
        lane, wide = lane_of(engine, Limits(batch=3)), Manner(beam=2)
        orders = [order("first")]
        lane.put(orders[0])
        await asyncio.to_thread(engine.begun.wait)
        orders += [order("a", "b"), order("c", manner=wide), order("d"), order("e", manner=wide), order("f", "g")]
        for one in orders[1:]:
            lane.put(one)
        assert lane.waiting == 7
        engine.let.set()
        for one in orders:
            await texts(one)
        assert engine.batches == [["first"], ["a", "b", "d"], ["c", "e"], ["f", "g"]]
        assert engine.manners == [TEXT_ALONE, TEXT_ALONE, wide, TEXT_ALONE]
        lane.close()

    asyncio.run(run())


def test_where_outputs_are_drawn_an_order_is_a_batch() -> None:
    async def run() -> None:
        engine = Shouting()
        engine.let.clear()
        lane = lane_of(engine, Limits(batch=2), draws=True)
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
        lane = lane_of(engine, Limits(queue=3, batch=1))
        orders = [order("a")]
        lane.put(orders[0])
        await asyncio.to_thread(engine.begun.wait)
        orders.append(order("b", "c", "d", "e", "f"))
        lane.put(orders[1])
        with pytest.raises(RefusedError) as caught:
            lane.put(order("g"))
        assert caught.value.status == 429
        engine.let.set()
        assert [await texts(one) for one in orders] == [["A"], ["B", "C", "D", "E", "F"]]
        lane.close()

    asyncio.run(run())


def test_what_would_wait_too_long_is_refused_at_once() -> None:
    async def run() -> None:
        engine = Shouting()
        lane = lane_of(engine, Limits(seconds=1, batch=1))
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
        with pytest.raises(RefusedError) as caught:
            lane.put(order(*"abcdefghijklmnopqrstuvwxyz"))
        assert caught.value.status == 429
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
        with pytest.raises(RefusedError, match="line 2: cannot be") as caught:
            await bad.wait(WAIT)
        assert caught.value.status == 409
        with pytest.raises(RefusedError, match="fault of the server") as caught:
            await broken.wait(WAIT)
        assert caught.value.status == 500
        lane.close()

    with caplog.at_level(logging.CRITICAL, "weft.serve"):
        asyncio.run(run())


def test_what_nobody_waits_for_is_not_translated() -> None:
    async def run() -> None:
        engine = Shouting()
        engine.let.clear()
        lane = lane_of(engine, Limits(batch=1))
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
        lane = lane_of(engine, Limits(batch=1))
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
            raise DroppedError

        lane = lane_of(Shouting())
        one, other = order("a", tell=left), order("b")
        lane.put(one)
        lane.put(other)
        assert await texts(other) == ["B"]
        with pytest.raises(TimeoutError):
            await one.wait(0.0)
        lane.close()

    asyncio.run(run())
