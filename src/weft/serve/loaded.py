"""A model in memory, with its queues."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from weft.control.request import Request
from weft.core.errors import UserError
from weft.engine.choice import EngineName, Wish, choose
from weft.engine.role import Engine
from weft.engine.translation import Translation
from weft.export.converted import Precision
from weft.export.described import read_described
from weft.serve.full import Full
from weft.serve.lane import Lane, Watch
from weft.serve.limits import Limits
from weft.serve.looking import Looking
from weft.serve.manner import TEXT_ALONE, Manner
from weft.serve.order import Order, Tell
from weft.serve.snapshot import Snapshot

if TYPE_CHECKING:
    from weft.engine.translator import Translator

FIRST = "1"  # what every model is asked before it answers anybody


@dataclass(frozen=True)
class Wished:
    """How models are to be loaded: what the options of the command say."""

    engine: EngineName = "auto"
    precision: Precision | None = None
    beam: int | None = None
    device: str = "auto"


@dataclass(frozen=True)
class Loaded:
    """fast: for text alone, by whichever engine is the fastest. full: for everything else; perhaps the same.

    torch: the engine for everything. looking: for looks inside. told: which engine, and why.
    """

    snapshot: Snapshot
    torch: Full
    fast: Lane
    full: Lane
    looking: Looking
    told: str

    def put(self, order: Order) -> None:
        """Into the queue that can see to it."""
        plain = order.manner == TEXT_ALONE and order.tell is None
        simple = plain and all(request.is_plain and not request.protect for request in order.requests)
        (self.fast if simple else self.full).put(order)

    @property
    def waiting(self) -> int:
        return sum(lane.waiting for lane in {self.fast, self.full})

    def close(self) -> None:
        """Finish what was accepted, then go."""
        for lane in {self.fast, self.full}:
            lane.close()
        self.looking.close()
        self.torch.close()
        self.snapshot.remove()


def load(path: Path, wished: Wished, limits: Limits, watch: Watch) -> Loaded:
    """The model in a run or model folder, ready to answer. UserError if it cannot be."""
    snapshot = Snapshot(path)
    try:
        full = Full(lambda: _translator(snapshot.folder, wished), wished.beam)
        wish = Wish(wished.engine, wished.precision, wished.beam, (), device=wished.device)
        chosen = choose(snapshot.folder, wish, full.translator)
        fast = None if full.is_loaded else chosen.engine  # asked before a line that the other engine hands on to torch
        if chosen.engine.reader.reads == "pictures":
            raise UserError(f"{path}: this model reads pictures, and only text is served")
        list(chosen.engine.stream([FIRST]))
        lanes = _lanes(fast, full, limits, draws=draws(snapshot.folder), watch=watch)
    except BaseException:
        snapshot.remove()
        raise
    return Loaded(snapshot, full, *lanes, Looking(full.ready, limits), chosen.told)


def _lanes(fast: Engine | None, full: Full, limits: Limits, *, draws: bool, watch: Watch) -> tuple[Lane, Lane]:
    """One for both purposes, if torch is the fastest."""
    slow = Lane(full, limits, 1, draws, watch)
    if fast is None:
        return slow, slow

    def answer(_manner: Manner, requests: Sequence[Request], _tell: Tell | None) -> list[Translation]:
        return list(fast.stream(requests))

    return Lane(answer, limits, fast.at_once, draws, watch), slow


def _translator(folder: Path, wished: Wished) -> Translator:
    from weft.engine.load import load_translator

    return load_translator(folder, device=wished.device, beam=wished.beam)


def draws(folder: Path) -> bool:
    """Does the model draw its outputs at random?"""
    translate = read_described(folder).config["translate"]
    return bool(translate["search"]["type"] == "sampling" or translate["mbr"]["samples"])
