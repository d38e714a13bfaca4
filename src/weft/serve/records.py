"""What our own API answers: the records of `weft translate --json`, as models that describe themselves."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field


class Told(BaseModel):
    """A record has these names and no others."""

    model_config = ConfigDict(extra="forbid")


class Alternative(Told):
    """An output. Pieces and their scores are there if details are asked for."""

    text: str
    score: Annotated[float | None, Field(description="The log-probability; null if it is impossible.")]
    finished: Annotated[bool, Field(description="false: the length limit ended it.")]
    ranked_by: Annotated[float | None, Field(description="What it was compared by with the others.")]
    pieces: list[str] | None = None
    piece_scores: list[float] | None = None


class Wish(Told):
    """What was asked of an output, and whether it has it so."""

    asked: Literal["prefix", "include", "exclude"]
    phrases: list[str]
    met: bool
    forced: bool


class Protected(Told):
    """A span that was not to be translated."""

    kind: str
    text: str
    by: Literal["search", "cutting"]


class Attention(Told):
    """Where each piece of the text looked, the end mark last."""

    source_pieces: list[str]
    weights: list[list[float]]


class Choice(Told):
    """A piece that could stand at a place."""

    piece: str
    score: float | None


class Sentence(Told):
    """The translation of a line."""

    source: str
    text: str
    score: float | None
    cut: Annotated[bool, Field(description="The line was longer than the model reads, and its end was left out.")]
    alternatives: Annotated[list[Alternative], Field(description="Best first; the first is the text itself.")]
    asked: list[Wish] | None = None
    protected: list[Protected] | None = None
    confidence: Annotated[float | None, Field(description="Of a calibrated model, with details.")] = None
    alignment: Annotated[list[tuple[int, int]] | None, Field(description="Words: of the source, of the text.")] = None
    attention: Attention | None = None
    likeliest: list[list[Choice]] | None = None


class Paragraph(Told):
    """The translation of a line of any number of sentences."""

    source: str
    text: str
    sentences: list[Sentence]


class Answer(Told):
    """What /v1/translate answers: a record for each line, in their order."""

    model: str
    lines: list[Sentence] | list[Paragraph]


class Model(Told):
    """A model that is served."""

    name: str
    source: str
    target: str
    engine: str
    mark: Annotated[str, Field(description="Equal for equal models.")]
    queue: Annotated[int, Field(description="Lines that wait.")]


class Reloaded(Told):
    """For each model, why it could not be loaded anew and stays as it was; null if it was."""

    models: dict[str, str | None]


class Error(BaseModel):
    """Why there is no other answer."""

    error: str
