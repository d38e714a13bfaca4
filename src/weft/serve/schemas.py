"""Response schemas of the v1 API: translations as in `weft translate --json`, models, and inspection results."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

DECIMALS = 5
FloatMatrix = list[list[float]]
LogProbability = Annotated[float | None, Field(description="A log-probability; null if it is minus infinity.")]
RoundedScore = Annotated[LogProbability, BeforeValidator(lambda value: round(value, DECIMALS))]
RoundedMatrix = Annotated[FloatMatrix, BeforeValidator(lambda array: array.round(DECIMALS).tolist())]
MeanOfUnits = Annotated[  # of an array [T,D], over D
    list[float], BeforeValidator(lambda array: [round(value, DECIMALS) for value in array.mean(1).tolist()])
]


class ApiRecord(BaseModel):
    """A JSON object with exactly these fields. It can be validated from an object with attributes of the same names."""

    model_config = ConfigDict(extra="forbid", from_attributes=True)


def _significant_digits(array: Any) -> list[float] | None:
    """Round values that span many powers of ten."""
    return None if array is None else [float(f"{value:.6g}") for value in array.tolist()]


class AlternativeRecord(ApiRecord):
    """An output. Tokens and their scores are present on request."""

    text: str
    score: LogProbability
    finished: Annotated[bool, Field(description="false if the length limit ended it.")]
    ranking_score: Annotated[float | None, Field(description="The score by which outputs were ranked.")]
    tokens: list[str] | None = None
    token_scores: list[float] | None = None


class ConstraintRecord(ApiRecord):
    """A constraint, and whether the output satisfies it."""

    kind: Literal["prefix", "include", "exclude"]
    phrases: list[str]
    met: bool
    forced: Annotated[bool, Field(description="It was added at the very end, where no other tokens fit.")]


class ProtectedRecord(ApiRecord):
    """A span that was copied, not translated."""

    kind: str
    text: str
    method: Literal["copy", "tags", "search", "alignment", "split"]


class AttentionRecord(ApiRecord):
    """The attention of each token of the text to the source tokens, the end token last on both sides."""

    source_tokens: list[str]
    weights: FloatMatrix


class TokenRecord(ApiRecord):
    """A candidate token at a position."""

    token: str
    score: LogProbability


class SentenceRecord(ApiRecord):
    """The translation of a sentence."""

    source: str
    text: str
    score: LogProbability
    truncated: Annotated[bool, Field(description="The line was longer than the model reads; its end was dropped.")]
    alternatives: Annotated[list[AlternativeRecord], Field(description="Best first; the first is the text itself.")]
    constraints: list[ConstraintRecord] | None = None
    protected: list[ProtectedRecord] | None = None
    confidence: Annotated[float | None, Field(description="Of a calibrated model, with tokens.")] = None
    alignment: Annotated[
        list[tuple[int, int]] | None, Field(description="Pairs of words: index in the source, index in the text.")
    ] = None
    attention: AttentionRecord | None = None
    top_tokens: list[list[TokenRecord]] | None = None


class LineRecord(SentenceRecord):
    """The translation of a line. Tokens and attention of several sentences are only in `sentences`."""

    sentences: Annotated[list[SentenceRecord] | None, Field(description="Unless lines are not split.")] = None


class TranslateResponse(ApiRecord):
    """A record for each line, in their order."""

    model: str
    lines: list[LineRecord]


class ModelRecord(ApiRecord):
    """A model of this server."""

    name: str
    source: str
    target: str
    backend: str
    fingerprint: Annotated[str, Field(description="Equal for equal models.")]
    queue: Annotated[int, Field(description="Lines that wait.")]


class ReloadResponse(ApiRecord):
    """For each model, why it could not be reloaded; null if it was."""

    models: dict[str, str | None]


class WordAlternativeRecord(ApiRecord):
    """A token that could begin a word; translate with the prefix to get it there."""

    token: str
    score: RoundedScore
    prefix: str


class WordRecord(ApiRecord):
    """A word of the translation."""

    name: str
    text: Annotated[str, Field(description="What the word adds to the text, with the space before it.")]
    tokens: list[str]
    scores: list[RoundedScore]
    alternatives: Annotated[
        list[WordAlternativeRecord], Field(description="Candidates for its first token, the most probable first.")
    ]


class WordsResponse(ApiRecord):
    """A translation, word by word."""

    text: str
    score: RoundedScore
    words: list[WordRecord]


class AttentionResponse(ApiRecord):
    """Attention weights: a row for each word or token of the translation, the end token last on both sides."""

    text: str
    source: list[str]
    target: list[str]
    weights: Annotated[RoundedMatrix, Field(description="The weights that the decoder returns.")]
    layers: Annotated[
        list[list[RoundedMatrix]], Field(description="Per layer with attention to the source, its heads.")
    ]
    remarks: list[str]


class SearchNodeRecord(ApiRecord):
    """A hypothesis, by its last token."""

    token: str
    text: Annotated[str, Field(description="The text of the hypothesis.")]
    score: float
    outcome: Literal["output", "finished", "extended", "unfinished", "dropped"]
    ranking_score: Annotated[float | None, Field(description="Of a finished hypothesis.")]
    parent: Annotated[int | None, Field(description="Index of the hypothesis that it extends, in the step before.")]


class SearchTreeResponse(ApiRecord):
    """The hypotheses of each step of a search, the best first."""

    text: str
    steps: list[list[SearchNodeRecord]]


class GateRecord(ApiRecord):
    """Activations of a gate at each token, from 0 (closed) to 1 (open), averaged over its units."""

    module: Annotated[str, Field(description="The cell, for example encoder.0.forward.")]
    name: str
    labels: list[str]
    activations: Annotated[MeanOfUnits, Field(validation_alias="values")]


class GradientFlowRecord(ApiRecord):
    """The largest singular value of the Jacobian from each step of a cell to its last step."""

    module: str
    labels: list[str]
    hidden_state: Annotated[list[float | None], BeforeValidator(_significant_digits), Field(validation_alias="hidden")]
    cell_state: Annotated[
        list[float | None] | None,
        BeforeValidator(_significant_digits),
        Field(validation_alias="cell", description="Of an LSTM."),
    ]
    spectral_norm: Annotated[
        float, Field(validation_alias="factor", description="The largest singular value of the recurrent matrix.")
    ]


class GatesResponse(ApiRecord):
    """The gates of a recurrent model, and the gradient flow on request."""

    gates: list[GateRecord]
    gradients: list[GradientFlowRecord] | None = None


class PositionVectorsRecord(ApiRecord):
    """The position embedding of each token of a side."""

    side: Literal["source", "target"]
    labels: list[str]
    vectors: RoundedMatrix


class PositionsResponse(ApiRecord):
    """The position embeddings of both sides."""

    sides: list[PositionVectorsRecord]


class FramesResponse(ApiRecord):
    """The probabilities of a frame head: a row for each relevant class, a column for each frame."""

    text: str
    classes: list[str]
    best_path: Annotated[
        list[str], Field(validation_alias="symbols", description="The most probable class of each frame.")
    ]
    probabilities: RoundedMatrix
