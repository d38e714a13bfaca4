"""Endpoints that look inside a model: /v1/inspect/words, attention, search, gates, positions, frames."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated, Literal, TypeAlias

from fastapi import APIRouter
from fastapi.responses import Response
from pydantic import ConfigDict, Field

from weft.core.errors import UserError
from weft.decoding.constraints.request import Request
from weft.serve import schemas
from weft.serve.api_v1 import MODEL_ERRORS, LineRequest, ModelName, SingleLine, check_line_limits, parse_line
from weft.serve.batch_queue import DecodeOptions
from weft.serve.dependencies import JsonCall, JsonRequest, PositiveInt
from weft.serve.http_errors import conflict_error, limit_error
from weft.serve.limits import ServerLimits
from weft.serve.model_pool import ModelPool

if TYPE_CHECKING:
    from weft.inference.translator import Translator

router = APIRouter(prefix="/v1/inspect", tags=["Inspection"])


class InspectionRequest(JsonRequest):
    """A line to translate and inspect."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"line": "A man sleeps."}]})

    line: SingleLine | LineRequest
    model: ModelName = None
    beam: PositiveInt | None = None
    unit: Annotated[Literal["words", "tokens"], Field(description="For attention.")] = "words"
    alternatives: Annotated[PositiveInt, Field(description="For words: the number of candidates at each.")] = 8
    gradients: Annotated[bool, Field(description="For gates: add the gradient flow, which takes longer.")] = False


InspectFunction: TypeAlias = "Callable[[Translator, Request, InspectionRequest], schemas.ApiRecord]"


def inspection(response_model: type[schemas.ApiRecord]) -> Callable[[InspectFunction], InspectFunction]:
    """Register a function `inspect_NAME` as POST /v1/inspect/NAME. Its docstring describes the endpoint."""

    def register(function: InspectFunction) -> InspectFunction:
        async def endpoint(body: InspectionRequest, call: JsonCall) -> Response:
            call.check_key(body.api_key)
            return await call.respond(inspect_line(function, body, call.models, call.limits))

        name = function.__name__.removeprefix("inspect_")
        router.post(
            f"/{name}",
            name=name,
            description=function.__doc__,
            response_model=response_model,
            responses=MODEL_ERRORS,
        )(endpoint)
        return function

    return register


async def inspect_line(
    function: InspectFunction, body: InspectionRequest, models: ModelPool, limits: ServerLimits
) -> str:
    """Return the JSON of an inspection."""
    check_line_limits([body.line], limits)
    model, request = models.find(body.model), parse_line(body.line)
    for name, value, limit in (
        ("line", len(request.text) + len(request.prefix), limits.inspected_characters),
        ("beam", body.beam or 0, limits.beam),
        ("alternatives", body.alternatives, limits.top_tokens),
    ):
        if value > limit:
            raise limit_error(name, value, limit)
    if request.protect:
        raise conflict_error("line: protect may split a line, so there is no single translation to inspect")
    return await model.inspect(
        lambda translator: function(translator, request, body).model_dump_json(), DecodeOptions(beam=body.beam)
    )


@inspection(schemas.WordsResponse)
def inspect_words(translator: Translator, request: Request, body: InspectionRequest) -> schemas.WordsResponse:
    """Return the probability of each word, and what else could stand there."""
    from weft.visualize.word_alternatives import translate_with_alternatives

    return schemas.WordsResponse.model_validate(translate_with_alternatives(translator, request, body.alternatives))


@inspection(schemas.AttentionResponse)
def inspect_attention(translator: Translator, request: Request, body: InspectionRequest) -> schemas.AttentionResponse:
    """Return the attention weights of every layer and head."""
    from weft.visualize.attention_weights import attention_map

    return schemas.AttentionResponse.model_validate(attention_map(translator, request, unit=body.unit))


@inspection(schemas.SearchTreeResponse)
def inspect_search(translator: Translator, request: Request, _body: InspectionRequest) -> schemas.SearchTreeResponse:
    """Return the hypotheses that the search extended, finished and dropped, as a tree."""
    from weft.visualize.search_tree import node_outcomes, trace_search

    trace = trace_search(translator, request)
    outcomes = node_outcomes(trace.steps, trace.best)
    steps: list[list[schemas.SearchNodeRecord]] = []
    rows: dict[object, int] = {}
    for step in trace.steps:
        texts = translator.trained.target_tokenizer.decode(
            [[ancestor.token for ancestor in node.path()] for node in step]
        )
        steps.append(
            [
                schemas.SearchNodeRecord(
                    token=trace.name(node.token),
                    text=text,
                    score=round(node.score, schemas.DECIMALS),
                    outcome=outcomes[node],
                    ranking_score=round(node.rank, schemas.DECIMALS) if node.status == "finished" else None,
                    parent=None if node.parent is None else rows[node.parent],
                )
                for node, text in zip(step, texts, strict=True)
            ]
        )
        rows = {node: row for row, node in enumerate(step)}
    return schemas.SearchTreeResponse(text=trace.translated.translation.text, steps=steps)


@inspection(schemas.GatesResponse)
def inspect_gates(translator: Translator, request: Request, body: InspectionRequest) -> schemas.GatesResponse:
    """Return the activations of the gates of a recurrent model."""
    from weft.visualize import gate_activations, gradient_flow

    try:
        gates = gate_activations.gate_activations(translator, request)
    except UserError:
        if not body.gradients:
            raise
        gates = []  # Elman cells have no gates; without any cell, gradient_flows raises UserError
    flows = gradient_flow.gradient_flows(translator, request) if body.gradients else None
    return schemas.GatesResponse.model_validate({"gates": gates, "gradients": flows})


@inspection(schemas.PositionsResponse)
def inspect_positions(translator: Translator, request: Request, _body: InspectionRequest) -> schemas.PositionsResponse:
    """Return the position embeddings that are added to the token embeddings."""
    from weft.visualize.position_embeddings import position_vectors

    return schemas.PositionsResponse.model_validate({"sides": position_vectors(translator, request)})


@inspection(schemas.FramesResponse)
def inspect_frames(translator: Translator, request: Request, _body: InspectionRequest) -> schemas.FramesResponse:
    """Return the class probabilities of each frame of a frame head, for example of CTC."""
    from weft.visualize.frame_posteriors import frame_posteriors

    return schemas.FramesResponse.model_validate(frame_posteriors(translator, request.text))
