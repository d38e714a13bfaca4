"""The processes that train one model together. With one of them alone, everything here does nothing.

torchrun starts them, on one machine or many, and numbers them: the first rank decides, reads and writes the run folder,
and speaks; the others compute. Whatever one rank tells another is numbers or JSON: nothing is unpickled.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

import torch
import torch.distributed as dist
from torch._C._distributed_c10d import Store

Told = TypeVar("Told")  # what JSON can say


class Ranks(Protocol):
    """number: of this process, from 0; size: how many there are; device: where this one computes."""

    @property
    def number(self) -> int: ...

    @property
    def size(self) -> int: ...

    @property
    def device(self) -> torch.device: ...

    def sums(self, numbers: Sequence[float]) -> list[float]:
        """Each number summed over all ranks."""
        ...

    def first(self, make: Callable[[], Told]) -> Told:
        """What the first rank makes, on all of them; the others wait, and do not call `make`."""
        ...

    def in_turn(self) -> AbstractContextManager[None]:
        """The first rank of each machine goes through the block before its neighbours, which find what it has made."""
        ...

    def remember(self, what: str) -> None:
        """Let whoever is started in the place of these processes, when one has died, know of it."""
        ...

    def remembers(self, what: str) -> bool:
        """Did processes in whose place these were started leave that word? The first rank's answer counts."""
        ...


@dataclass(frozen=True)
class Alone:
    """One process."""

    device: torch.device
    number: int = 0
    size: int = 1

    def sums(self, numbers: Sequence[float]) -> list[float]:
        return list(numbers)

    def first(self, make: Callable[[], Told]) -> Told:
        return make()

    def in_turn(self) -> AbstractContextManager[None]:
        return nullcontext()

    def remember(self, what: str) -> None:
        """Nobody is started in its place."""

    def remembers(self, what: str) -> bool:  # noqa: ARG002
        return False


ON_CPU = Alone(torch.device("cpu"))


@dataclass(frozen=True)
class Several:
    """Ranks that have met (meeting.py). local: the number on this machine, from 0.

    brisk: for what all say at about the same time, as they do with gradients; who is silent there for long is lost.
    patient: for waiting until the first rank has done something. Both use the CPU, so that waiting does not count as a
    stuck GPU. launch: a store that outlives these processes, but not torchrun.
    """

    number: int
    size: int
    local: int
    device: torch.device
    brisk: dist.ProcessGroup
    patient: dist.ProcessGroup
    launch: Store

    def sums(self, numbers: Sequence[float]) -> list[float]:
        summed = torch.tensor(numbers, dtype=torch.float64)
        dist.all_reduce(summed, group=self.brisk)
        totals: list[float] = summed.tolist()
        return totals

    def first(self, make: Callable[[], Told]) -> Told:
        said = json.dumps(make()).encode() if self.number == 0 else b""
        length = torch.tensor([len(said)])
        dist.broadcast(length, 0, group=self.patient)
        letters = torch.frombuffer(bytearray(said or bytes(int(length))), dtype=torch.uint8)
        dist.broadcast(letters, 0, group=self.patient)
        told: Any = json.loads(letters.numpy().tobytes())
        return told  # type: ignore[no-any-return]

    @contextmanager
    def in_turn(self) -> Iterator[None]:
        if self.local:
            self._wait()
        yield
        if not self.local:
            self._wait()

    def remember(self, what: str) -> None:
        self.launch.set(what, "yes")

    def remembers(self, what: str) -> bool:
        return self.first(lambda: bool(self.launch.check([what])))

    def _wait(self) -> None:
        dist.all_reduce(torch.zeros(1), group=self.patient)


def speaks() -> bool:
    """Is this the process that a person hears: one alone, or the first?"""
    return not dist.is_torchelastic_launched() or os.environ["RANK"] == "0"


def own_draws(ranks: Ranks) -> tuple[int, ...]:
    """What sets the random draws of a rank apart: nothing for the first, which draws as one that is alone."""
    return (ranks.number,) if ranks.number else ()
