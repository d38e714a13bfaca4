"""A search as wide as is asked for."""

from __future__ import annotations

from typing import Any

Node = dict[str, Any]

BEAM: Node = {  # what a beam is where only its size is given: a test compares it with search/beam.py
    "type": "beam",
    "length_penalty": {"type": "average", "alpha": 1.0},
    "coverage_penalty": 0.0,
    "stop": "finished",
    "keep_greedy": False,
}


def search_of(translate: Node, beam: int | None) -> Node:
    """The search of the section `translate` of a recipe, as wide as is asked for, all that decides in it."""
    search = wider(translate["search"], "beam", beam, None)
    return {**BEAM, **search} if search["type"] == "beam" else search


def wider(finding: Node, wide: str, beam: int | None, best: int | None) -> Node:
    """The search or reading with another beam size and number of alternatives, where they are given.

    What finds several without a beam, as sampling, is left as it is but for their number.
    """
    if beam is None and best is None:
        return finding
    if beam is None and "best" in finding and "size" not in finding:
        return {**finding, "best": best}
    known = finding if "size" in finding else {"type": wide}
    size = beam or max(best or 1, known.get("size", 5))
    return {**known, "size": size, "best": best or min(known.get("best", 1), size)}
