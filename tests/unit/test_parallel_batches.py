"""Parallel batches: same results in the same order, cancelled after a failure."""

from collections.abc import Iterator
from pathlib import Path
from threading import Event, get_ident

import pytest
import torch
from torch import Tensor

from unit.models import TRANSFORMER, save_model_folder, untrained_model
from weft.core.state import State, StepOutput
from weft.core.tracing import trace_tensors
from weft.decoding.constraints.request import Request
from weft.inference.loader import load_translator
from weft.inference.parallel_batches import (
    MIN_BATCH_TOKENS,
    BatchCancelledError,
    BatchWorkers,
    cancellable_step,
    make_batch_workers,
)

CPU = torch.device("cpu")


@pytest.fixture(autouse=True)
def threads() -> Iterator[None]:
    """Use two torch threads during each test."""
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    yield
    torch.set_num_threads(before)


def test_results_are_in_order_and_workers_share_the_threads() -> None:
    second_done = Event()

    def work(item: int) -> tuple[int, int, int]:
        if item == 0:
            second_done.wait()  # until another thread has processed the next item
        second_done.set()
        return item, torch.get_num_threads(), get_ident()

    found = list(BatchWorkers(2, MIN_BATCH_TOKENS)(work, range(5)))
    assert [item for item, *_ in found] == list(range(5))
    assert {threads for _, threads, _ in found} == {1}
    assert len({thread for *_, thread in found}) == 2
    assert torch.get_num_threads() == 2


def test_single_batch_uses_all_threads() -> None:
    (found,) = BatchWorkers(2, MIN_BATCH_TOKENS)(lambda _: (torch.get_num_threads(), get_ident()), [0])
    assert found == (2, get_ident())


def identity_step(tokens: Tensor, state: State) -> tuple[StepOutput, State]:
    return StepOutput(tokens, None), state


def test_failure_cancels_other_batches() -> None:
    started, cancelled = Event(), list[int]()

    def work(item: int) -> None:
        if item == 0:
            started.wait()
            raise ValueError("no")
        started.set()
        step, state = cancellable_step(identity_step), State((), ())
        try:
            for _ in range(1_000_000):
                step(torch.zeros(1), state)
        except BatchCancelledError:
            cancelled.append(item)
            raise

    with pytest.raises(ValueError, match="no"):
        list(BatchWorkers(2, MIN_BATCH_TOKENS)(work, range(20)))
    assert 1 in cancelled
    assert cancellable_step(identity_step) is identity_step


def test_number_of_workers_and_batch_tokens() -> None:
    assert make_batch_workers(CPU, 4 * MIN_BATCH_TOKENS) == BatchWorkers(2, 2 * MIN_BATCH_TOKENS)
    assert make_batch_workers(CPU, MIN_BATCH_TOKENS) == BatchWorkers(1, MIN_BATCH_TOKENS)
    assert make_batch_workers(torch.device("meta"), 4 * MIN_BATCH_TOKENS) == BatchWorkers(1, 4 * MIN_BATCH_TOKENS)
    with trace_tensors():
        assert make_batch_workers(CPU, 4 * MIN_BATCH_TOKENS) == BatchWorkers(1, 4 * MIN_BATCH_TOKENS)


def test_parallel_translations_are_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    translator = load_translator(
        save_model_folder(tmp_path / "model", untrained_model(TRANSFORMER)), device="cpu", beam=3
    )
    lines = ["abcde"[: n % 5 + 1] * (n % 3 + 1) for n in range(40)]
    alone = [translation.text for translation in translator.translate(lines)]
    monkeypatch.setattr("weft.inference.parallel_batches.MIN_BATCH_TOKENS", 8)
    parallel = load_translator(tmp_path / "model", device="cpu", beam=3, overrides=["translate.batch_tokens=64"])
    assert [translation.text for translation in parallel.translate(lines)] == alone
    requests = [Request("abc", exclude=("b",)), *map(Request, lines[1:])]
    assert [translation.text for translation in parallel.translate(requests)][1:] == alone[1:]
