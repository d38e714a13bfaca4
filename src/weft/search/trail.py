"""How each candidate of a search came about: back pointers, read once at the end."""

from typing import NamedTuple

from torch import Tensor

from weft.core.marks import END
from weft.core.state import Hypothesis


class Link(NamedTuple):
    """One step of a search: C candidates, each a token that extends one of the N rows given to the step function."""

    tokens: Tensor  # [C]
    scores: Tensor  # [C], of the token alone
    parents: Tensor  # [C], the candidate of the link before that was extended; not read in the first link
    rows: Tensor  # [C], the row of the step function that gave the token
    forced: Tensor  # [N], whether END was forced
    attention: Tensor | None  # [N,S]


class _Path(NamedTuple):
    """A link on the host: lists are much faster to walk than tensors."""

    tokens: list[int]
    scores: list[float]
    parents: list[int]
    rows: list[int]
    forced: list[bool]
    attention: Tensor | None


class Trail:
    """The links of a search, one per step."""

    def __init__(self) -> None:
        self._links: list[Link] = []

    def __len__(self) -> int:
        return len(self._links)

    def add(self, link: Link) -> None:
        self._links.append(link)

    def read(self, ends: list[list[tuple[int, int]]]) -> list[list[Hypothesis]]:
        """For each sentence the hypotheses whose last candidates stand at these (link, candidate) places."""
        paths = [_to_host(link) for link in self._links]
        return [[_walk(paths, *place) for place in places] for places in ends]


def _to_host(link: Link) -> _Path:
    return _Path(
        tokens=link.tokens.tolist(),
        scores=link.scores.tolist(),
        parents=link.parents.tolist(),
        rows=link.rows.tolist(),
        forced=link.forced.tolist(),
        attention=None if link.attention is None else link.attention.cpu(),
    )


def _walk(paths: list[_Path], last: int, candidate: int) -> Hypothesis:
    """Follow the parents from a candidate back to BEGIN."""
    forced = paths[last].forced[paths[last].rows[candidate]]
    tokens, scores, attention = [], [], []
    for path in reversed(paths[: last + 1]):
        tokens.append(path.tokens[candidate])
        scores.append(path.scores[candidate])
        if path.attention is not None:
            attention.append(tuple(path.attention[path.rows[candidate]].tolist()))
        candidate = path.parents[candidate]
    return Hypothesis(
        tokens=tuple(token for token in reversed(tokens) if token != END),
        score=sum(reversed(scores)),
        token_scores=tuple(reversed(scores)),
        finished=not forced,
        attention=tuple(reversed(attention)),
    )
