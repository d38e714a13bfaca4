"""The processes that train one model, started by torchrun on one machine or several.

Rank 0 makes the decisions, reads and writes the run folder and prints; the others compute. With a single process
every operation is trivial. Ranks exchange only numbers and JSON; nothing is unpickled.
"""

import json
import os
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, TypeVar
from uuid import uuid4

import torch
import torch.distributed as dist
from torch.distributed import PrefixStore, Store
from torch.distributed.rendezvous import rendezvous

from weft.checkpoints.model_folder import load_tokenizers, save_tokenizers
from weft.config.recipe import Recipe
from weft.config.serialization import from_dict, to_dict
from weft.core.codec import Codec
from weft.core.errors import UserError
from weft.core.hardware import select_device, select_rank_device
from weft.text.tokenizer import Tokenizer

LONG_TIMEOUT = timedelta(hours=6)  # waiting for rank 0, which may be reading the data or validating
SHORT_TIMEOUT = timedelta(minutes=10)  # waiting for the gradients of the other ranks
RENDEZVOUS_SECONDS = 300.0
POLL_SECONDS = 0.02
CONNECTION_ERRORS = ("connection", "broken pipe", "timed out", "timeout")  # in gloo's messages about other processes
PROCESS_LOST = "another process of this run has ended, so this one ends too. The checkpoints are intact."
PROCESS_TIMED_OUT = (
    f"another process of this run has not answered for {SHORT_TIMEOUT.total_seconds() / 60:.0f} minutes (for "
    f"{LONG_TIMEOUT.total_seconds() / 3600:.0f} hours, if the others were waiting for rank 0). Check its machine and "
    "the network. The checkpoints are intact."
)

JSONValue = TypeVar("JSONValue")


@dataclass(frozen=True)
class RankGroup:
    """The processes of a run as seen from one of them; this class is for a single process, MultiRank for several.

    device: where this process computes.
    """

    device: torch.device
    rank: int = 0
    world_size: int = 1

    def all_reduce(self, numbers: Sequence[float]) -> list[float]:
        """Return each number summed over all ranks."""
        return list(numbers)

    def on_main(self, make: Callable[[], JSONValue]) -> JSONValue:
        """Call `make` on rank 0 only and return its result on every rank; the others wait."""
        return make()

    def local_main_first(self) -> AbstractContextManager[None]:
        """Let the first rank of each machine execute the block before the others of that machine."""
        return nullcontext()

    def set_flag(self, name: str) -> None:
        """Set a flag that outlives these processes, for those that torchrun starts in their place."""

    def has_flag(self, name: str) -> bool:  # noqa: ARG002
        """Return whether earlier processes of this launch, or these, have set the flag."""
        return False


CPU_RANK = RankGroup(torch.device("cpu"))


@dataclass(frozen=True, kw_only=True)
class MultiRank(RankGroup):
    """One of several processes, after the rendezvous.

    short_group is for operations that all ranks reach at about the same time, long_group for waiting until rank 0 has
    finished something. Both use the CPU, so that waiting does not look like a stuck GPU. launch_store is torchrun's:
    it outlives these processes.
    """

    local_rank: int
    short_group: dist.ProcessGroup
    long_group: dist.ProcessGroup
    launch_store: Store

    def all_reduce(self, numbers: Sequence[float]) -> list[float]:
        summed = torch.tensor(numbers, dtype=torch.float64)
        dist.all_reduce(summed, group=self.short_group)
        totals: list[float] = summed.tolist()
        return totals

    def on_main(self, make: Callable[[], JSONValue]) -> JSONValue:
        message = json.dumps(make()).encode() if self.rank == 0 else b""
        length = torch.tensor([len(message)])
        dist.broadcast(length, 0, group=self.long_group)
        buffer = torch.frombuffer(bytearray(message or bytes(int(length))), dtype=torch.uint8)
        dist.broadcast(buffer, 0, group=self.long_group)
        received: Any = json.loads(buffer.numpy().tobytes())
        return received  # type: ignore[no-any-return]

    @contextmanager
    def local_main_first(self) -> Iterator[None]:
        if self.local_rank:
            self._barrier()
        yield
        if not self.local_rank:
            self._barrier()

    def set_flag(self, name: str) -> None:
        self.launch_store.set(name, "yes")

    def has_flag(self, name: str) -> bool:
        return self.on_main(lambda: bool(self.launch_store.check([name])))

    def _barrier(self) -> None:
        dist.all_reduce(torch.zeros(1), group=self.long_group)


def is_main_process() -> bool:
    """Return whether this process prints: rank 0, or the only one."""
    return not dist.is_torchelastic_launched() or os.environ["RANK"] == "0"


def broadcast_recipe(ranks: RankGroup, make: Callable[[], Recipe]) -> Recipe:
    """Return rank 0's recipe; other machines need not have its file."""
    return from_dict(ranks.on_main(lambda: to_dict(make())), Recipe)


def broadcast_tokenizers(ranks: RankGroup, make: Callable[[], tuple[Codec, Tokenizer]]) -> tuple[Codec, Tokenizer]:
    """Return rank 0's tokenizers, sent as the files they are saved in."""
    if ranks.world_size == 1:
        return make()

    def saved_files() -> dict[str, str]:
        with TemporaryDirectory() as folder:
            save_tokenizers(Path(folder), *make())
            return {path.name: path.read_text("utf-8") for path in Path(folder).iterdir()}

    files = ranks.on_main(saved_files)
    with TemporaryDirectory() as folder:
        for name, text in files.items():
            (Path(folder) / name).write_text(text, "utf-8")
        return load_tokenizers(Path(folder))


@contextmanager
def join_process_group(device: str) -> Iterator[RankGroup]:
    """Join the processes that torchrun has started; without torchrun, yield this process alone.

    If one process fails, all end, and only the first to fail prints its message.
    """
    if not dist.is_torchelastic_launched():
        yield RankGroup(select_device(device))
        return
    launch_store, rank, world_size = next(rendezvous("env://"))
    store = PrefixStore(agree_on_session(launch_store, rank, world_size), launch_store)
    with report_first_failure(store):
        local_rank = int(os.environ["LOCAL_RANK"])
        rank_device = select_rank_device(device, local_rank)
        if rank_device.type == "cuda":
            torch.cuda.set_device(rank_device)
        backend = "nccl" if rank_device.type == "cuda" else "gloo"
        dist.init_process_group(backend, store=store, rank=rank, world_size=world_size, timeout=SHORT_TIMEOUT)
        short, long = (dist.new_group(backend="gloo", timeout=timeout) for timeout in (SHORT_TIMEOUT, LONG_TIMEOUT))
        yield MultiRank(
            rank_device,
            rank,
            world_size,
            local_rank=local_rank,
            short_group=short,
            long_group=long,
            launch_store=launch_store,
        )
        dist.destroy_process_group()


def agree_on_session(store: Store, rank: int, world_size: int) -> str:
    """Return a session name that all present ranks share and no earlier process has used.

    torchrun's store outlives processes, so it may hold the entries of dead ones. Each rank publishes a new random id.
    Rank 0 publishes the list of ids it has read until every rank has acknowledged it; a rank acknowledges only a list
    that contains its own id. The session name is rank 0's id.
    """
    own_id, end = uuid4().hex, time.monotonic() + RENDEZVOUS_SECONDS
    store.set(f"id of {rank}", own_id)
    while time.monotonic() < end:
        name = publish_members(store, own_id, world_size) if rank == 0 else acknowledge_members(store, own_id, rank)
        if name is not None:
            return name
        time.sleep(POLL_SECONDS)
    raise UserError(
        f"rank {rank}: not all of the {world_size} processes of this run have met within {RENDEZVOUS_SECONDS:.0f} "
        "seconds. Check that all machines were started with the same --nnodes and --nproc-per-node, and can reach each "
        "other."
    )


def publish_members(store: Store, own_id: str, world_size: int) -> str | None:
    """Publish the ids of all ranks, for rank 0; return the session name once all have acknowledged it."""
    keys = [f"id of {rank}" for rank in range(world_size)]
    if not store.check(keys):
        return None
    store.set("ids", json.dumps([store.get(key).decode() for key in keys]))
    acknowledgements = [f"{own_id} {rank}" for rank in range(1, world_size)]
    return own_id if not acknowledgements or store.check(acknowledgements) else None


def acknowledge_members(store: Store, own_id: str, rank: int) -> str | None:
    """Acknowledge rank 0's list if it contains this rank; return the session name then."""
    ids: list[str] = json.loads(store.get("ids")) if store.check(["ids"]) else []
    if own_id not in ids:
        return None
    store.set(f"{ids[0]} {rank}", "yes")
    return ids[0]


@contextmanager
def report_first_failure(store: Store) -> Iterator[None]:
    """Let only the first rank that fails raise its error; the others exit silently. An error that only says that
    another process has ended becomes a UserError.
    """
    try:
        yield
    except (Exception, KeyboardInterrupt) as error:
        if failure_already_reported(store):
            raise SystemExit(2) from None
        text = str(error).lower()
        from_gloo = isinstance(error, RuntimeError) and "gloo" in text
        if isinstance(error, dist.DistError) or (from_gloo and any(word in text for word in CONNECTION_ERRORS)):
            raise UserError(PROCESS_TIMED_OUT if "timed out" in text else PROCESS_LOST) from error
        raise


def failure_already_reported(store: Store) -> bool:
    """Return whether another rank has reported a failure; from now on this one has."""
    try:
        return int(store.add("failures", 1)) > 1
    except dist.DistError:  # torchrun itself has ended
        return False
