"""What of a recipe's search CTranslate2 does in the very same way.

Its greedy search is ours. Its beam search goes on like ours and stops like `stop: finished`; its score / length^alpha,
the end mark counted in the length, is the ranking `average`. Everything else differs, if only in the last hypothesis:
then the torch engine is taken, and an exported folder says so.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from weft.export.described import Node

NEUTRAL = {
    "ctc_weight": 0.0,
    "words": None,
    "least_factor": 0.0,
    "least_extra": 0,
    "block_repeats": 0,
}


class SameSearch(NamedTuple):
    """A beam of this size, 1 for greedy search; and what the length counts."""

    beam: int
    alpha: float


def nearest_search(search: Node) -> SameSearch:
    """The very search, of a recipe that has no `differences`; else a beam as wide, by mean log-probabilities."""
    match search:
        case {"type": "beam", "size": int(size), "length_penalty": {"type": "average", "alpha": alpha}} if size > 1:
            return SameSearch(size, float(alpha))
        case {"type": "beam", "size": int(size), "length_penalty": {"type": "none"}} if size > 1:
            return SameSearch(size, 0.0)
    return SameSearch(search.get("size", 1), 1.0)


def differences(translate: Node, search: Node) -> list[str]:
    """Why outputs could be others, for the section `translate` of a recipe with this search."""
    return [*_steering(translate), *_searching(search)]


def greedy_differences(translate: Node) -> list[str]:
    """The same for one who searches greedily, whatever the recipe says."""
    match translate["search"]:
        case {"type": "greedy"} | {"type": "beam", "size": 1}:
            return [*_steering(translate)]
        case search:
            return [*_steering(translate), f"translate.search is {search['type']}"]


def _steering(translate: Node) -> Iterator[str]:
    for name, neutral in NEUTRAL.items():
        if translate[name] != neutral:
            yield f"translate.{name} is {translate[name]}"
    if translate["fusion"]["model"] is not None:
        yield f"translate.fusion.model is {translate['fusion']['model']}"
    if translate["mbr"]["samples"]:
        yield f"translate.mbr.samples is {translate['mbr']['samples']}"


def _searching(search: Node) -> Iterator[str]:
    match search:
        case {"type": "greedy"} | {"type": "beam", "size": 1}:
            return
        case {"type": "beam", "length_penalty": {"type": str(ranking)}}:
            if ranking != "average" or not search["length_penalty"]["alpha"] > 0:
                yield f"translate.search.length_penalty is {ranking}"
            for name, same in (("stop", "finished"), ("coverage_penalty", 0.0), ("keep_greedy", False)):
                if search[name] != same:
                    yield f"translate.search.{name} is {search[name]}"
        case _:
            yield f"translate.search is {search['type']}"
