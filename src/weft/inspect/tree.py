"""The tree of a search: every hypothesis that was kept or dropped, as the search noted it (search/recording.py).

with watching() as seen:
    translator.translate(["A man sleeps."])
steps = rebuild(seen)
steps[0]  # what the first token might have been, best first
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple, TypeAlias

from torch import Tensor

from weft.core.marks import END

Fate: TypeAlias = Literal["kept", "dropped", "finished"]
Outcome: TypeAlias = Literal["output", "finished", "extended", "left", "dropped"]


@dataclass(frozen=True, eq=False)
class Node:
    """A hypothesis, by its last token. Each is itself: equal ones may stand in different places."""

    token: int
    score: float  # of the whole hypothesis
    fate: Fate
    rank: float  # what it was compared by, if it has finished
    parent: Node | None

    def path(self) -> list[Node]:
        """From the first token to this one."""
        return [*([] if self.parent is None else self.parent.path()), self]


class _Candidate(NamedTuple):
    """As the search noted it, in the order of NOTED."""

    token: int
    score: float  # of the token alone
    parent: int
    sentence: int
    kept: bool
    finished: bool
    rank: float


NOTED = ("tokens", "scores", "parents", "sentences", "kept", "finished", "ranks")


def rebuild(seen: Mapping[str, Sequence[Tensor]], sentence: int | None = None) -> list[list[Node]]:
    """The nodes of each step, best first, of the sentence at this place in the batch; None: of all that was searched.

    Candidates that are impossible are no hypotheses.
    """
    steps: list[list[Node]] = []
    before: dict[int, Node] = {}
    for step in zip(*(seen[f"search.{name}"] for name in NOTED), strict=True):
        candidates = map(_Candidate._make, zip(*(tensor.tolist() for tensor in step), strict=True))
        before = {
            place: _node(candidate, before.get(candidate.parent) if steps else None)
            for place, candidate in enumerate(candidates)
            if sentence in (None, candidate.sentence) and candidate.score > float("-inf")
        }
        steps.append(sorted(before.values(), key=lambda node: -node.score))
    return [nodes for nodes in steps if nodes]


def _node(candidate: _Candidate, parent: Node | None) -> Node:
    fate: Fate = "kept" if candidate.kept else "finished" if candidate.finished else "dropped"
    score = candidate.score + (0.0 if parent is None else parent.score)
    return Node(candidate.token, score, fate, candidate.rank, parent)


class Outcomes:
    """What became of each node, when the search is over."""

    def __init__(self, steps: Sequence[Sequence[Node]], best: Node | None):
        self._output = set() if best is None else set(best.path())
        self._extended = {node.parent for step in steps for node in step}
        self._last = set(steps[-1]) if steps else set()

    def of(self, node: Node) -> Outcome:
        """The output's nodes are its own. Left are those that could have gone on when the search stopped.

        Of a node that went on, all extensions may be worse than any candidate: then it was dropped, too.
        """
        if node in self._output:
            return "output"
        if node.fate == "finished":
            return "finished"
        if node in self._extended:
            return "extended"
        return "left" if node.fate == "kept" and node in self._last else "dropped"


def end_of(steps: Sequence[Sequence[Node]], tokens: Sequence[int]) -> Node | None:
    """The finished hypothesis with these tokens, END not among them."""
    wanted = [*tokens, END]
    ends = (node for step in steps for node in step if node.fate == "finished")
    return next((node for node in ends if [one.token for one in node.path()] == wanted), None)
