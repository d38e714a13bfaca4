"""Scores for people and for programs."""

from collections.abc import Sequence

from weft.metric.score import Score


def render(scores: Sequence[Score]) -> str:
    """A plain table, a line per score: name, value, which way is better, signature."""
    width = max((len(score.name) for score in scores), default=0)
    return "\n".join(
        f"{score.name:<{width}}  {score.value:6.2f}  {score.better} is better  {score.signature}" for score in scores
    )


def as_json(scores: Sequence[Score]) -> list[dict[str, str | float]]:
    """The scores as plain values for json.dump, nothing rounded."""
    return [score._asdict() for score in scores]
