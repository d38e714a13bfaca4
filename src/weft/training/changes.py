"""A run that goes on with another configuration than it had: what cannot change, and what comes of the rest."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from weft.config.document import inline
from weft.core.errors import UserError
from weft.training.budget import LENGTHS

FIXED = ("model", "text", "train.start", "train.keep_moments", "train.freeze")  # weights, ids and moments are for these
FREE = "dropout"  # how settings among them end that may change all the same
MEASURE = (  # by which validations can be compared
    "objective",
    *(f"train.validation.{name}" for name in ("choose", "lines", "search", "reading")),
)
ABSENT = "nothing"


def fixed(recipe: dict[str, Any]) -> dict[str, Any]:
    """What stays as it was when the run began, by its place."""
    return {place: at(recipe, place) for place in FIXED}


def check_fixed(before: dict[str, Any], now: dict[str, Any], config: Path) -> None:
    """Is all of that as it was? config: the file where a person may have changed it."""
    wrong = [f"{place}: {old} -> {new}" for place, old, new in changes(before, now) if not place.endswith(FREE)]
    if wrong:
        raise UserError(
            f"{config}: {'; '.join(wrong)}: this cannot change once a run has begun, since all that it has learned is "
            "for the old value. Put that back, or start a new run with another --out."
        )


class Kept(NamedTuple):
    """What a run can still use of its checkpoint; the rest begins anew. sums: those of the next report."""

    moments: bool
    average: bool
    sums: bool
    best: bool

    def anew(self) -> list[str]:
        """The rest, in words."""
        names = ("the optimiser's moments", "the average of the weights", "the means of the next report")
        return [name for name, kept in zip((*names, "which model is the best"), self, strict=True) if not kept]


def kept(before: dict[str, Any], now: dict[str, Any]) -> Kept:
    """Of two configurations as plain data."""
    return Kept(
        moments=same(before, now, "train.optimiser.type"),
        average=at(now, "train.average") is None or same(before, now, "train.average.type"),
        sums=same(before, now, "objective"),
        best=same(before, now, *MEASURE),
    )


def told_changes(before: dict[str, Any], now: dict[str, Any], step: int) -> str | None:
    """None if a person changed nothing."""
    by_itself = LENGTHS if at(before, LENGTHS[0]) is None else ()
    changed = [f"{place}: {old} -> {new}" for place, old, new in changes(before, now) if place not in by_itself]
    if not changed:
        return None
    anew = kept(before, now).anew()
    return (
        f"the configuration has changed since step {step}: {'; '.join(changed)}. From here on the run has the new "
        "values, so it will not end as one that had them, or the old ones, from its first step"
        + (f". Anew begin: {', '.join(anew)}" if anew else "")
    )


def changes(before: Any, now: Any, place: str = "") -> Iterator[tuple[str, str, str]]:
    """Where they differ, with both values on a line each."""
    if not isinstance(before, dict) or not isinstance(now, dict):
        if before != now:
            yield place, inline(before), inline(now)
        return
    for name in dict.fromkeys([*before, *now]):
        below = f"{place}.{name}" if place else name
        if name in before and name in now:
            yield from changes(before[name], now[name], below)
        else:
            yield below, _shown(before, name), _shown(now, name)


def same(before: dict[str, Any], now: dict[str, Any], *places: str) -> bool:
    return all(at(before, place) == at(now, place) for place in places)


def at(node: Any, place: str) -> Any:
    """What stands at a dotted place; None if nothing does."""
    for name in place.split("."):
        node = node.get(name) if isinstance(node, dict) else None
    return node


def _shown(node: dict[str, Any], name: str) -> str:
    return inline(node[name]) if name in node else ABSENT
