"""Scores for people and for programs."""

import json
from collections.abc import Sequence

from weft.metric.score import Score


def render(scores: Sequence[Score]) -> str:
    """A plain table, a line per score: name, value, which way is better, signature."""
    width = max((len(score.name) for score in scores), default=0)
    return "\n".join(
        f"{score.name:<{width}}  {score.value:6.2f}  {score.better} is better  {score.signature}" for score in scores
    )


def as_json(scores: Sequence[Score]) -> str:
    """A JSON list with an object per score, nothing rounded."""
    return json.dumps([score._asdict() for score in scores], indent=2)
