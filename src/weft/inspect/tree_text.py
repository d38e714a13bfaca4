"""The tree of a search as text, for a terminal."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple

from weft.inspect.lettering import short
from weft.inspect.tree import Node, Outcome, Outcomes

LEGEND = (
    "A line is a hypothesis, by its last piece, under the one that it extends; the number is its score, best first.",
    "✗ was dropped; ✓ has finished, with what it was compared by; … was left when the search stopped; ● is the output.",
)
SIGNS: Mapping[Outcome, str] = MappingProxyType(
    {"output": "●", "finished": "", "extended": "", "left": "…", "dropped": "✗"}
)


class _Line(NamedTuple):
    """What stands on the left of a line, and what the rest is about."""

    left: str
    node: Node


def tree_text(steps: Sequence[Sequence[Node]], best: Node | None, name: Callable[[int], str]) -> str:
    """A line for each node, with what became of it."""
    lines, outcomes = list(_lines(children_of(steps), None, "", name)), Outcomes(steps, best)
    width = max((len(line.left) for line in lines), default=0)
    told = (f"{line.left:<{width}} {line.node.score:8.2f} {_signs(line.node, outcomes)}" for line in lines)
    return "\n".join([*LEGEND, "", *map(str.rstrip, told)])


def _signs(node: Node, outcomes: Outcomes) -> str:
    compared = f"✓ {node.rank:.3f}" if node.fate == "finished" else ""
    return f"{SIGNS[outcomes.of(node)]} {compared}".strip()


def children_of(steps: Sequence[Sequence[Node]]) -> dict[Node | None, list[Node]]:
    """What extends each node, best first; None is the beginning."""
    children: dict[Node | None, list[Node]] = {None: []}
    for step in steps:
        for node in step:
            children.setdefault(node.parent, []).append(node)
    return children


def _lines(
    children: dict[Node | None, list[Node]], parent: Node | None, indent: str, name: Callable[[int], str]
) -> Iterator[_Line]:
    """The lines of all that extends the parent, depth first."""
    nodes = children.get(parent, [])
    for place, node in enumerate(nodes, 1):
        branch, below = ("└─", "  ") if place == len(nodes) else ("├─", "│ ")
        yield _Line(f"{indent}{branch}{short(name(node.token))}", node)
        yield from _lines(children, node, indent + below, name)
