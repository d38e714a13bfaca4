"""The scale on which the probability of a word is shown, the same in the playground, in notebooks and in the prompt.

Colors never carry information alone: a level also has a line style, and the probability stands next to it or is shown
on request.
"""

from __future__ import annotations

from typing import Literal, NamedTuple, TypeAlias

ProbabilityName: TypeAlias = Literal["high", "medium", "low"]


class ProbabilityLevel(NamedTuple):
    """A range of probabilities, from `minimum` up to the level above; `description`: in percent.

    line: the CSS style of the line under a word. color: of that line, visible on light and dark pages. terminal: the
    name of the same color in a terminal.
    """

    name: ProbabilityName
    minimum: float
    description: str
    line: str
    color: str
    terminal: str


LEVELS = (  # static/legend.js and static/style.css repeat them; a test compares
    ProbabilityLevel("high", 0.75, "75 % and more", "solid", "#3d86c6", "bright_blue"),
    ProbabilityLevel("medium", 0.5, "50 to 75 %", "dashed", "#b58900", "yellow"),
    ProbabilityLevel("low", 0.0, "below 50 %", "dotted", "#d9480f", "red"),
)


def probability_level(probability: float) -> ProbabilityLevel:
    """Return the level of a probability; the lowest if it is not a number."""
    return next((level for level in LEVELS if probability >= level.minimum), LEVELS[-1])
