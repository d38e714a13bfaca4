"""Endpoints that look inside a model: /v1/inspect/words, alternatives, attention, search, gates, positions, frames."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated, Literal, TypeAlias

from fastapi import APIRouter
from fastapi.responses import Response
from pydantic import Field

from weft.core.errors import UserError
from weft.decoding.constraints.request import Request
from weft.serve import schemas
from weft.serve.api_v1 import MODEL_ERRORS, StreamRequest, check_line_limits, parse_line
from weft.serve.batch_queue import DecodeOptions
from weft.serve.dependencies import JsonCall, NonNegativeInt, PositiveInt
from weft.serve.http_errors import check_length, check_limit, conflict_error
from weft.serve.limits import ServerLimits

if TYPE_CHECKING:
    from weft.inference.translator import Translator

router = APIRouter(prefix="/v1/inspect", tags=["Inspection"])


class InspectionRequest(StreamRequest):
    """A line to translate and inspect."""

    unit: Annotated[Literal["words", "tokens"], Field(description="For attention.")] = "words"
    word: Annotated[NonNegativeInt, Field(description="For alternatives: the index of a word of `words`.")] = 0
    alternatives: Annotated[PositiveInt, Field(description="For alternatives: how many words to return.")] = 8
    gradients: Annotated[bool, Field(description="For gates: add the gradient flow, which takes longer.")] = False

    def to_request(self, limits: ServerLimits) -> Request:
        """Return the line as a request. Raise ApiError if it exceeds a limit or cannot be inspected."""
        check_line_limits([self.line], limits)
        request = parse_line(self.line)
        check_length("sentence", len(request.text) + len(request.prefix), limits.inspected_characters, "inspects")
        check_limit("beam", self.beam or 0, limits.beam)
        check_limit("alternatives", self.alternatives, limits.top_tokens)
        if request.protect:
            raise conflict_error("line: protect may split a line, so there is no single translation to inspect")
        return request


InspectFunction: TypeAlias = "Callable[[Translator, Request, InspectionRequest], object]"


def inspection(response_model: type[schemas.ApiRecord]) -> Callable[[InspectFunction], InspectFunction]:
    """Register a function `inspect_NAME` as POST /v1/inspect/NAME. Its docstring describes the endpoint."""

    def register(function: InspectFunction) -> InspectFunction:
        async def endpoint(body: InspectionRequest, call: JsonCall) -> Response:
            call.check_key(body.api_key)
            model, request = call.models.find(body.model), body.to_request(call.limits)

            def inspect(translator: Translator) -> str:
                return response_model.model_validate(function(translator, request, body)).model_dump_json()

            return await call.respond(model.inspect(inspect, DecodeOptions(beam=body.beam)))

        name, description = function.__name__.removeprefix("inspect_"), function.__doc__
        router.post(
            f"/{name}", name=name, description=description, response_model=response_model, responses=MODEL_ERRORS
        )(endpoint)
        return function

    return register


@inspection(schemas.WordsResponse)
def inspect_words(translator: Translator, request: Request, _body: InspectionRequest) -> object:
    """Return the probability of each word, and the other inspections that this model supports."""
    from weft.visualize.translation_views import translate_with_views
    from weft.visualize.word_alternatives import annotate_translation

    translation, views = translate_with_views(translator, request)
    annotated = annotate_translation(translation)
    return {"text": annotated.text, "score": annotated.score, "words": annotated.words, "views": views}


@inspection(schemas.AlternativesResponse)
def inspect_alternatives(translator: Translator, request: Request, body: InspectionRequest) -> object:
    """Return the words that could stand in place of a word of the translation."""
    from weft.visualize.translation_trace import trace_translation
    from weft.visualize.word_alternatives import annotate_translation, word_alternatives

    if not translator.trained.model.has_decoder:
        raise UserError("this model has no decoder, so no other words can be chosen for its output")
    translation, _ = trace_translation(translator, request)
    words = annotate_translation(translation).words
    if body.word >= len(words):
        raise UserError(f"word: {body.word}, but the translation has {len(words)} words, counted from 0")
    return {"alternatives": word_alternatives(translation, words[body.word], body.alternatives)}


@inspection(schemas.AttentionResponse)
def inspect_attention(translator: Translator, request: Request, body: InspectionRequest) -> object:
    """Return the attention weights of every layer and head."""
    from weft.visualize.attention_weights import attention_map

    return attention_map(translator, request, unit=body.unit)


@inspection(schemas.SearchTreeResponse)
def inspect_search(translator: Translator, request: Request, _body: InspectionRequest) -> object:
    """Return the hypotheses that the search extended, finished and dropped, as a tree."""
    from weft.visualize.search_tree import node_outcomes, trace_search

    trace, tokenizer = trace_search(translator, request), translator.trained.target_tokenizer
    outcomes = node_outcomes(trace.steps, trace.best)
    steps: list[list[schemas.SearchNodeRecord]] = []
    rows: dict[object, int] = {}
    for step in trace.steps:
        texts = tokenizer.decode([[ancestor.token for ancestor in node.path()] for node in step])
        steps.append(
            [
                schemas.SearchNodeRecord(
                    token=trace.name(node.token),
                    text=text,
                    score=round(node.score, schemas.DECIMALS),
                    outcome=outcomes[node],
                    ranking_score=round(node.ranking_score, schemas.DECIMALS) if node.status == "finished" else None,
                    parent=None if node.parent is None else rows[node.parent],
                )
                for node, text in zip(step, texts, strict=True)
            ]
        )
        rows = {node: row for row, node in enumerate(step)}
    return schemas.SearchTreeResponse(text=trace.translation.text, steps=steps)


@inspection(schemas.GatesResponse)
def inspect_gates(translator: Translator, request: Request, body: InspectionRequest) -> object:
    """Return the activations of the gates of a recurrent model."""
    from weft.visualize.gate_activations import gate_activations
    from weft.visualize.gradient_flow import gradient_flows

    try:
        gates = gate_activations(translator, request)
    except UserError:
        if not body.gradients:
            raise
        gates = []  # Elman cells have no gates; without any cell, gradient_flows raises UserError
    return {"gates": gates, "gradients": gradient_flows(translator, request) if body.gradients else None}


@inspection(schemas.PositionsResponse)
def inspect_positions(translator: Translator, request: Request, _body: InspectionRequest) -> object:
    """Return the position embeddings that are added to the token embeddings."""
    from weft.visualize.position_embeddings import position_vectors

    return {"sides": position_vectors(translator, request)}


@inspection(schemas.FramesResponse)
def inspect_frames(translator: Translator, request: Request, _body: InspectionRequest) -> object:
    """Return the class probabilities of each frame of a frame head, for example of CTC."""
    from weft.visualize.frame_posteriors import frame_posteriors

    return frame_posteriors(translator, request.text)
