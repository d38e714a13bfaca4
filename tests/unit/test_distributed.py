"""Rendezvous of ranks, the device of each rank, and error reporting when a rank is lost."""

from collections.abc import Sequence
from datetime import timedelta
from pathlib import Path

import pytest
import torch
import torch.distributed as dist
from torch._C._distributed_c10d import HashStore
from torch.distributed.distributed_c10d import _set_pg_timeout

from laws.rank_processes import run_two_ranks
from weft.config.recipe import TrainingConfig
from weft.core import hardware
from weft.core.errors import UserError
from weft.core.hardware import select_rank_device
from weft.training import distributed
from weft.training.distributed import (
    PROCESS_LOST,
    PROCESS_TIMED_OUT,
    MultiRank,
    RankGroup,
    agree_on_session,
    report_first_failure,
)

CLOSED = "[../third_party/gloo/gloo/transport/tcp/pair.cc:547] Connection closed by peer [127.0.0.1]:29500"


@pytest.mark.parametrize(
    ("error", "message"),
    [
        (RuntimeError(CLOSED), PROCESS_LOST),
        (dist.DistNetworkError("the store has gone"), PROCESS_LOST),
        (UserError("/data/igloo/train.en: there is no such file"), "/data/igloo/train.en: there is no such file"),
    ],
)
def test_only_the_first_failing_rank_reports_the_error(error: Exception, message: str) -> None:
    store = HashStore()
    with pytest.raises(UserError) as first, report_first_failure(store):
        raise error
    assert str(first.value) == message
    with pytest.raises(SystemExit) as second, report_first_failure(store):
        raise error
    assert second.value.code == 2


@pytest.mark.parametrize("error", [ZeroDivisionError(), RuntimeError("[third_party/gloo/pair.cc] 8 vs 4 bytes")])
def test_other_exceptions_are_not_converted(error: Exception) -> None:
    with pytest.raises(type(error)) as caught, report_first_failure(HashStore()):
        raise error
    assert caught.value is error


@pytest.mark.slow
def test_unresponsive_rank_times_out(tmp_path: Path) -> None:
    run_two_ranks(time_out_on_rank_0, tmp_path, TrainingConfig(), [])
    assert (tmp_path / "message").read_text() == PROCESS_TIMED_OUT


def time_out_on_rank_0(ranks: RankGroup, folder: Path, _settings: TrainingConfig, _names: Sequence[str]) -> None:
    """Rank 1 does not answer; rank 0, with a short timeout after the rendezvous, writes its error to a file."""
    assert isinstance(ranks, MultiRank)
    if ranks.rank == 0:
        _set_pg_timeout(timedelta(seconds=0.5), ranks.short_group)
        with pytest.raises(UserError) as error, report_first_failure(HashStore()):
            ranks.all_reduce([1.0])
        (folder / "message").write_text(str(error.value))
    ranks.on_main(lambda: None)


def test_incomplete_rendezvous_times_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(distributed, "RENDEZVOUS_SECONDS", 0.1)
    with pytest.raises(UserError, match="rank 0: not all of the 2 processes"):
        agree_on_session(HashStore(), 0, 2)


def test_each_local_rank_gets_its_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hardware, "select_device", torch.device)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
    assert select_rank_device("cuda", 1) == torch.device("cuda", 1)
    assert select_rank_device("cpu", 5) == torch.device("cpu")
    with pytest.raises(UserError, match="--nproc-per-node 2"):
        select_rank_device("cuda", 2)
    for device in ("cuda:1", "mps"):
        with pytest.raises(UserError, match="one place for all processes"):
            select_rank_device(device, 0)
