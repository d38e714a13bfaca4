"""What a line became."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

if TYPE_CHECKING:
    from weft.control.checking import Checked
    from weft.control.spans import Kind
    from weft.engine.sight import Sight
    from weft.text.alignment import Link

LONGEST = 60  # letters of a line that a short description shows


class Alternative(NamedTuple):
    """One output for a line: its text, its log-probability, its pieces (the end mark last) with theirs.

    finished: False if the length limit ended it, or if the model could say nothing at all. ranked_by: what it was
    compared by with the others, the higher the better; None where frames were read, or nothing was compared.
    piece_scores: empty where the engine does not tell them.
    """

    text: str
    score: float
    pieces: tuple[str, ...]
    piece_scores: tuple[float, ...]
    finished: bool
    ranked_by: float | None = None


class Protected(NamedTuple):
    """A span of the source that was not to be translated.

    by: how it came into the output: the search was made to say it, or the line was cut there and the span put between
    what its parts became.
    """

    kind: Kind
    text: str
    by: Literal["search", "cutting"]


class Looked(NamedTuple):
    """Where the pieces of the text looked (the end mark last): a row of weights for each, over the source's pieces."""

    source_pieces: tuple[str, ...]  # the end mark last
    weights: tuple[tuple[float, ...], ...]


class Choice(NamedTuple):
    """A piece that could stand at a place, and its log-probability there."""

    piece: str
    score: float


NOTHING = Alternative("", 0.0, (), (), finished=True)
FAILED = Alternative("", float("-inf"), (), (), finished=False)  # no output has a probability: broken weights


@dataclass(frozen=True, repr=False)
class Translation:
    """What a line became, with the alternatives that the search returned (the first is the text itself).

    What stands below `protected` is told of the text alone, and only where it is wanted and the model can tell it.
    sight: what else can be found out when somebody looks, as a notebook does. It holds the model, so it is left out
    where a translation is copied or kept in a file, and does not count where two are compared.
    """

    source: str
    alternatives: tuple[Alternative, ...]
    cut: bool = False  # the line was longer than the model can read, and its end was left out
    checked: tuple[Checked, ...] = ()  # what was asked for, and whether the text has it so
    protected: tuple[Protected, ...] = ()
    confidence: float | None = None  # how probably it is good, by what was measured on a validation set
    links: tuple[Link, ...] | None = None  # which words belong together
    looked: Looked | None = None
    likeliest: tuple[tuple[Choice, ...], ...] = ()  # for each piece of the text, the end mark last
    sight: Sight | None = field(default=None, compare=False)

    @property
    def text(self) -> str:
        return self.alternatives[0].text

    @property
    def score(self) -> float:
        return self.alternatives[0].score

    def __repr__(self) -> str:
        return f"Translation({_short(self.source)!r} -> {_short(self.text)!r}, score={self.score:.4f})"

    def _repr_html_(self) -> str:
        """How a notebook shows it: the words of both sides, where each looked, and how sure the model was."""
        from weft.engine.notebook import as_html

        return as_html(self)

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "sight": None}


def _short(line: str) -> str:
    return line if len(line) <= LONGEST else line[: LONGEST - 1] + "…"
