"""How the processes that torchrun has started find each other, and how they part."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from uuid import uuid4

import torch
import torch.distributed as dist
from torch._C._distributed_c10d import PrefixStore, Store
from torch.distributed.rendezvous import rendezvous

from weft.core.errors import UserError
from weft.engine.device import device_of_rank, pick_device
from weft.training.ranks import Alone, Ranks, Several

PATIENT = timedelta(hours=6)  # the wait for the first rank, which may be reading the data or validating
BRISK = timedelta(minutes=10)  # the wait for the gradients of the others
MEETING = 300.0  # seconds in which all must have come
GLANCE = 0.02  # seconds between two looks at who is there
GONE = ("connection", "broken pipe", "timed out", "timeout")  # what gloo says of others, and not of itself
LOST = "another process of this run has ended, and so do those that waited for it. What a checkpoint holds is kept."
SILENT = (
    f"another process of this run has not answered for {BRISK.total_seconds() / 60:.0f} minutes (for "
    f"{PATIENT.total_seconds() / 3600:.0f} hours, if it was the first and all waited for it). Has its machine gone, or "
    "the network? What a checkpoint holds is kept."
)


@contextmanager
def joined(device: str) -> Iterator[Ranks]:
    """The ranks of this run: those that torchrun has started, or this process alone.

    When one of several fails all end, with one message: that of the first who speaks.
    """
    if not dist.is_torchelastic_launched():
        yield Alone(pick_device(device))
        return
    launch, number, size = next(rendezvous("env://"))
    store = PrefixStore(meet(launch, number, size), launch)
    with one_voice(store):
        local = int(os.environ["LOCAL_RANK"])
        place = device_of_rank(device, local)
        if place.type == "cuda":
            torch.cuda.set_device(place)
        backend = "nccl" if place.type == "cuda" else "gloo"
        dist.init_process_group(backend, store=store, rank=number, world_size=size, timeout=BRISK)
        brisk, patient = (dist.new_group(backend="gloo", timeout=timeout) for timeout in (BRISK, PATIENT))
        yield Several(number, size, local, place, brisk, patient, launch)
        dist.destroy_process_group()


def meet(store: Store, number: int, size: int) -> str:
    """A name for this meeting, known to all who came and to nobody before.

    The store is torchrun's: it outlives processes, so the words of dead ones may still stand in it. Everyone leaves a
    new word. The first rank shows the words that it has read, until all have answered; a rank answers only where
    its own word is among them. The name is the first rank's word.
    """
    word, end = uuid4().hex, time.monotonic() + MEETING
    store.set(f"word of {number}", word)
    while time.monotonic() < end:
        name = show(store, word, size) if number == 0 else answer(store, word, number)
        if name is not None:
            return name
        time.sleep(GLANCE)
    raise UserError(
        f"rank {number}: not all of the {size} processes of this run have met within {MEETING:.0f} seconds. Were all "
        "machines started with the same --nnodes and --nproc-per-node, and can they reach each other?"
    )


def show(store: Store, word: str, size: int) -> str | None:
    """Show who is there; the name, if all have answered."""
    keys = [f"word of {number}" for number in range(size)]
    if not store.check(keys):
        return None
    store.set("words", json.dumps([store.get(key).decode() for key in keys]))
    answers = [f"{word} {number}" for number in range(1, size)]
    return word if not answers or store.check(answers) else None


def answer(store: Store, word: str, number: int) -> str | None:
    """Answer to the first rank, if it knows this one; the name is its word."""
    words = json.loads(store.get("words")) if store.check(["words"]) else []
    if word not in words:
        return None
    store.set(f"{words[0]} {number}", "here")
    name: str = words[0]
    return name


@contextmanager
def one_voice(store: Store) -> Iterator[None]:
    """Only the first rank to fail tells why; the others, for the same reason or because of it, end silently."""
    try:
        yield
    except (Exception, KeyboardInterrupt) as error:
        if spoken(store):
            raise SystemExit(2) from None
        if is_loss(error):
            raise UserError(SILENT if "timed out" in str(error).lower() else LOST) from error
        raise


def spoken(store: Store) -> bool:
    """Has another rank told already why the run ends? From now on this one has."""
    try:
        return int(store.add("spoken", 1)) > 1
    except dist.DistError:  # torchrun itself is gone
        return False


def is_loss(error: BaseException) -> bool:
    """Does it only say that another process is gone?"""
    told = str(error).lower()
    by_gloo = isinstance(error, RuntimeError) and "gloo" in told and any(word in told for word in GONE)
    return by_gloo or isinstance(error, dist.DistError)
