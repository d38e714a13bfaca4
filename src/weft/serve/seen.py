"""What is answered of the inside of a model."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from weft.serve.records import Told

Matrix = list[list[float]]


class Other(Told):
    """A piece that could stand at a place; ask for the prefix to have it there."""

    piece: str
    score: float | None
    prefix: str


class Place(Told):
    """A word of the translation. text: what it adds to it, the space before it too."""

    name: str
    text: str
    pieces: list[str]
    scores: list[float | None]
    others: Annotated[list[Other], Field(description="What its first piece could be, the likeliest first.")]


class Words(Told):
    """A translation, word by word."""

    text: str
    score: float | None
    words: list[Place]


class Attention(Told):
    """Names of both sides, the end mark last, and weights between them, a row for each of the target's."""

    text: str
    source: list[str]
    target: list[str]
    weights: Annotated[Matrix, Field(description="What the decoder itself gives out.")]
    layers: Annotated[list[list[Matrix]], Field(description="Of each layer that looks at the source, its heads.")]
    remarks: list[str]


class Node(Told):
    """A hypothesis by its last piece. parent: its place among the nodes of the step before."""

    piece: str
    text: Annotated[str, Field(description="All of it.")]
    score: float
    outcome: Literal["output", "finished", "extended", "left", "dropped"]
    compared_by: Annotated[float | None, Field(description="Of one that has finished.")]
    parent: int | None


class Tree(Told):
    """A search: the hypotheses of each step, the best first."""

    text: str
    steps: list[list[Node]]


class Gate(Told):
    """How far a gate was open at each piece, 0 to 1, on the mean of its units."""

    place: str
    name: str
    labels: list[str]
    open: list[float]


class Flow(Told):
    """How much longer a gradient can become from the last step of a cell back to each piece, at most.

    cell: the same of an LSTM's cell state. factor: the largest singular value of the recurrent matrix.
    """

    place: str
    labels: list[str]
    hidden: list[float | None]
    cell: list[float | None] | None
    factor: float


class Gates(Told):
    """The cells of a recurrent model; gradients are there if they were asked for."""

    gates: list[Gate]
    gradients: list[Flow] | None = None


class Placed(Told):
    """A vector for each piece of a side."""

    side: Literal["source", "target"]
    labels: list[str]
    vectors: Matrix


class Positions(Told):
    """What tells a model where a piece stands."""

    sides: list[Placed]


class Frames(Told):
    """What each frame says: probabilities, a row for each class that matters; symbols: the best path."""

    text: str
    classes: list[str]
    symbols: list[str]
    probabilities: Matrix
