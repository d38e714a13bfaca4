"""How ranks meet, on which device each computes, and who speaks when one is lost."""

from collections.abc import Sequence
from datetime import timedelta
from pathlib import Path

import pytest
import torch
import torch.distributed as dist
from torch._C._distributed_c10d import HashStore
from torch.distributed.distributed_c10d import _set_pg_timeout

from laws.ranks import on_two
from weft.config.recipe import Train
from weft.core.errors import UserError
from weft.engine import device
from weft.engine.device import device_of_rank
from weft.training import meeting
from weft.training.meeting import LOST, SILENT, meet, one_voice
from weft.training.ranks import Ranks, Several

CLOSED = "[../third_party/gloo/gloo/transport/tcp/pair.cc:547] Connection closed by peer [127.0.0.1]:29500"


@pytest.mark.parametrize(
    ("error", "told"),
    [
        (RuntimeError(CLOSED), LOST),
        (dist.DistNetworkError("the store has gone"), LOST),
        (UserError("/data/igloo/train.en: there is no such file"), "/data/igloo/train.en: there is no such file"),
    ],
)
def test_the_first_to_fail_says_why_and_the_others_nothing(error: Exception, told: str) -> None:
    store = HashStore()
    with pytest.raises(UserError) as first, one_voice(store):
        raise error
    assert str(first.value) == told
    with pytest.raises(SystemExit) as second, one_voice(store):
        raise error
    assert second.value.code == 2


@pytest.mark.parametrize("error", [ZeroDivisionError(), RuntimeError("[third_party/gloo/pair.cc] 8 vs 4 bytes")])
def test_what_is_wrong_with_the_program_stays_what_it_is(error: Exception) -> None:
    with pytest.raises(type(error)) as found, one_voice(HashStore()):
        raise error
    assert found.value is error


@pytest.mark.slow
def test_who_is_silent_is_lost(tmp_path: Path) -> None:
    on_two(wait_in_vain, tmp_path, Train(), [])
    assert (tmp_path / "told").read_text() == SILENT


def wait_in_vain(ranks: Ranks, folder: Path, _settings: Train, _names: Sequence[str]) -> None:
    """The second rank does not answer; the first, which is brisk once they have met, writes down what it is told."""
    assert isinstance(ranks, Several)
    if ranks.number == 0:
        _set_pg_timeout(timedelta(seconds=0.5), ranks.brisk)
        with pytest.raises(UserError) as error, one_voice(HashStore()):
            ranks.sums([1.0])
        (folder / "told").write_text(str(error.value))
    ranks.first(lambda: None)


def test_a_meeting_to_which_not_all_come_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(meeting, "MEETING", 0.1)
    with pytest.raises(UserError, match="rank 0: not all of the 2 processes"):
        meet(HashStore(), 0, 2)


def test_each_process_of_a_machine_has_its_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(device, "pick_device", torch.device)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
    assert device_of_rank("cuda", 1) == torch.device("cuda", 1)
    assert device_of_rank("cpu", 5) == torch.device("cpu")
    with pytest.raises(UserError, match="--nproc-per-node 2"):
        device_of_rank("cuda", 2)
    for one_place in ("cuda:1", "mps"):
        with pytest.raises(UserError, match="one place for all processes"):
            device_of_rank(one_place, 0)
