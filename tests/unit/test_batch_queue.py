"""The batch queue in front of a backend: batching, limits, errors and cancellation."""

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

WAIT = 60.0  # seconds; far more than needed


class UppercaseBackend:
    """Returns the text in upper case once `allowed` is set; "bad" raises a UserError, "broken" an internal error."""

    def __init__(self) -> None:
        self.batches: list[list[str]] = []
        self.used_options: list[DecodeOptions] = []
        self.allowed, self.started = Event(), Event()
        self.allowed.set()

    def __call__(
        self, options: DecodeOptions, requests: Sequence[Request], on_prefix: PrefixCallback | None
    ) -> list[Translation]:
        self.started.set()
        self.allowed.wait()
        self.batches.append([request.text for request in requests])
        self.used_options.append(options)
        if on_prefix is not None:
            on_prefix(["a"], "a")
        for number, request in enumerate(requests, 1):
            if request.text == "bad":
                raise UserError(f"line {number}: cannot be")
            if request.text == "broken":
                raise RuntimeError("a secret")
        return [uppercase_translation(request.text) for request in requests]


def uppercase_translation(text: str) -> Translation:
    return Translation(text, (Alternative(text.upper(), 0.0, (), (), finished=True),))


def make_job(
    *texts: str, options: DecodeOptions = TEXT_ONLY, on_prefix: PrefixCallback | None = None
) -> TranslationJob:
    return TranslationJob([Request(text) for text in texts], options, on_prefix)


def make_queue(backend: UppercaseBackend, limits: ServerLimits | None = None, sampling: bool = False) -> BatchQueue:
    return BatchQueue(backend, limits or ServerLimits(), 1, sampling, lambda _: None)


async def texts(job: TranslationJob) -> list[str]:
    return [translation.text for translation in await job.wait(WAIT)]


def test_each_job_gets_its_own_lines_in_order() -> None:
    async def run() -> None:
        queue = make_queue(UppercaseBackend(), ServerLimits(batch_size=3))
        jobs = [make_job(*(f"{number}-{place}" for place in range(number % 5))) for number in range(40)]
        for job in jobs:
            queue.put(job)
        for number, job in enumerate(jobs):
            assert await texts(job) == [f"{number}-{place}" for place in range(number % 5)]
        queue.close()

    asyncio.run(run())


def test_waiting_jobs_with_equal_options_share_batches() -> None:
    async def run() -> None:
        backend = UppercaseBackend()
        backend.allowed.clear()
        queue, wide = make_queue(backend, ServerLimits(batch_size=3)), DecodeOptions(beam=2)
        jobs = [make_job("first")]
        queue.put(jobs[0])
        await asyncio.to_thread(backend.started.wait)
        jobs += [
            make_job("a", "b"),
            make_job("c", options=wide),
            make_job("d"),
            make_job("e", options=wide),
            make_job("f", "g"),
        ]
        for job in jobs[1:]:
            queue.put(job)
        assert queue.waiting == 7
        backend.allowed.set()
        for job in jobs:
            await texts(job)
        assert backend.batches == [["first"], ["a", "b", "d"], ["c", "e"], ["f", "g"]]
        assert backend.used_options == [TEXT_ONLY, TEXT_ONLY, wide, TEXT_ONLY]
        queue.close()

    asyncio.run(run())


def test_with_sampling_each_job_is_a_batch_of_its_own() -> None:
    async def run() -> None:
        backend = UppercaseBackend()
        backend.allowed.clear()
        queue = make_queue(backend, ServerLimits(batch_size=2), sampling=True)
        jobs = [make_job("a"), make_job("b", "c", "d"), make_job("e")]
        for job in jobs:
            queue.put(job)
        backend.allowed.set()
        for job in jobs:
            await texts(job)
        assert backend.batches == [["a"], ["b", "c", "d"], ["e"]]
        queue.close()

    asyncio.run(run())


def test_full_queue_refuses_jobs_but_an_empty_one_accepts_any_size() -> None:
    async def run() -> None:
        backend = UppercaseBackend()
        backend.allowed.clear()
        queue = make_queue(backend, ServerLimits(queue=3, batch_size=1))
        jobs = [make_job("a")]
        queue.put(jobs[0])
        await asyncio.to_thread(backend.started.wait)
        jobs.append(make_job("b", "c", "d", "e", "f"))
        queue.put(jobs[1])
        with pytest.raises(ApiError) as caught:
            queue.put(make_job("g"))
        assert caught.value.status_code == 429
        backend.allowed.set()
        assert [await texts(job) for job in jobs] == [["A"], ["B", "C", "D", "E", "F"]]
        queue.close()

    asyncio.run(run())


def test_job_that_would_time_out_is_refused_at_once() -> None:
    async def run() -> None:
        backend = UppercaseBackend()
        queue = make_queue(backend, ServerLimits(timeout=1, batch_size=1))
        backend.allowed.clear()
        slow = make_job("slow")
        queue.put(slow)
        await asyncio.to_thread(backend.started.wait)
        await asyncio.sleep(0.3)  # the time that a line takes at least
        backend.allowed.set()
        await texts(slow)
        backend.started.clear()
        backend.allowed.clear()
        jobs = [make_job("a"), make_job("b")]
        queue.put(jobs[0])
        await asyncio.to_thread(backend.started.wait)
        queue.put(jobs[1])
        with pytest.raises(ApiError) as caught:
            queue.put(make_job(*"abcdefghijklmnopqrstuvwxyz"))
        assert caught.value.status_code == 429
        backend.allowed.set()
        assert [await texts(job) for job in jobs] == [["A"], ["B"]]
        queue.close()

    asyncio.run(run())


def test_failing_line_does_not_affect_other_jobs(caplog: pytest.LogCaptureFixture) -> None:
    async def run() -> None:
        backend = UppercaseBackend()
        backend.allowed.clear()
        queue = make_queue(backend)
        good, bad, broken = make_job("a", "b"), make_job("c", "bad"), make_job("broken")
        for job in (make_job("first"), good, bad, broken):
            queue.put(job)
        backend.allowed.set()
        assert await texts(good) == ["A", "B"]
        with pytest.raises(ApiError, match="line 2: cannot be") as caught:
            await bad.wait(WAIT)
        assert caught.value.status_code == 409
        with pytest.raises(ApiError, match="internal server error") as caught:
            await broken.wait(WAIT)
        assert caught.value.status_code == 500
        queue.close()

    with caplog.at_level(logging.CRITICAL, "weft.serve"):
        asyncio.run(run())


def test_job_that_timed_out_is_not_translated() -> None:
    async def run() -> None:
        backend = UppercaseBackend()
        backend.allowed.clear()
        queue = make_queue(backend, ServerLimits(batch_size=1))
        first, late = make_job("a"), make_job("b")
        queue.put(first)
        await asyncio.to_thread(backend.started.wait)
        queue.put(late)
        with pytest.raises(TimeoutError):
            await late.wait(0.0)
        backend.allowed.set()
        assert await texts(first) == ["A"]
        queue.close()
        assert backend.batches == [["a"]]

    asyncio.run(run())


def test_closing_finishes_accepted_jobs() -> None:
    async def run() -> None:
        backend = UppercaseBackend()
        backend.allowed.clear()
        queue = make_queue(backend, ServerLimits(batch_size=1))
        jobs = [make_job(letter) for letter in "abcde"]
        for job in jobs:
            queue.put(job)
        closing = asyncio.create_task(asyncio.to_thread(queue.close))
        await asyncio.sleep(0)
        backend.allowed.set()
        assert [await texts(job) for job in jobs] == [["A"], ["B"], ["C"], ["D"], ["E"]]
        await closing

    asyncio.run(run())


def test_cancelled_job_does_not_stop_the_queue() -> None:
    async def run() -> None:
        def cancel(_tokens: list[str], _text: str) -> None:
            raise JobCancelledError

        queue = make_queue(UppercaseBackend())
        cancelled, other = make_job("a", on_prefix=cancel), make_job("b")
        queue.put(cancelled)
        queue.put(other)
        assert await texts(other) == ["B"]
        with pytest.raises(TimeoutError):
            await cancelled.wait(0.0)
        queue.close()

    asyncio.run(run())
