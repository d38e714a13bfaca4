"""The v1 API: /v1/translate with constraints and details, /v1/stream (server-sent events), /v1/models, /v1/reload."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Sequence
from itertools import chain
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Depends
from fastapi.responses import Response
from fastapi.sse import EventSourceResponse, ServerSentEvent
from pydantic import BaseModel, ConfigDict, Field

from weft.core.errors import UserError
from weft.decoding.constraints.request import Request, request_from_dict
from weft.inference.translation import Translation
from weft.serve.batch_queue import DecodeOptions, JobCancelledError
from weft.serve.dependencies import JsonCall, JsonRequest, KeyedCall, NonNegativeInt, PositiveInt
from weft.serve.http_errors import BODY_ERRORS, ApiError, check_limit, conflict_error, error_responses
from weft.serve.libretranslate import check_text_limits
from weft.serve.limits import ServerLimits
from weft.serve.model_pool import ModelPool, ServedModel
from weft.serve.schemas import ModelRecord, ReloadResponse, TranslateResponse
from weft.text.span_patterns import SpanKind

MODEL_ERRORS = error_responses(*BODY_ERRORS, 404, 409, 429, 504)
SingleLine = Annotated[str, Field(pattern=r"^[^\n]*$")]
Phrase = Annotated[str, Field(pattern=r"^[^\n]*\S[^\n]*$")]
ModelName = Annotated[str | None, Field(description="The name of a model; by default the first of /v1/models.")]

router = APIRouter(prefix="/v1", tags=["Translation"])


class LineRequest(BaseModel):
    """A line to translate with constraints on its translation, as `weft translate --json-input` reads it."""

    model_config = ConfigDict(frozen=True, strict=True, extra="forbid")

    text: SingleLine
    prefix: Annotated[SingleLine, Field(description="The beginning of the translation.")] = ""
    prefix_bias: Annotated[
        float | None, Field(gt=0, lt=1, description="How strongly to prefer the prefix instead of forcing it.")
    ] = None
    include: Annotated[
        list[Phrase | Annotated[list[Phrase], Field(min_length=1)]],
        Field(description="Phrases that the translation contains; of a list, at least one."),
    ] = []
    ordered: Annotated[bool, Field(description="The phrases of `include` must come in this order.")] = False
    exclude: Annotated[list[Phrase], Field(description="Phrases that the translation does not contain.")] = []
    vocabulary: Annotated[
        list[Phrase] | None, Field(min_length=1, description="Only tokens of these phrases may be used.")
    ] = None
    protect: Annotated[
        list[SpanKind] | None, Field(description="Kinds of spans to carry over; by default those of the model.")
    ] = None

    @property
    def longest_list(self) -> int:
        """The number of phrases in the longest list; the vocabulary does not count."""
        nested = (len(phrases) for phrases in self.include if isinstance(phrases, list))
        return max(len(self.include), len(self.exclude), *nested)

    @property
    def all_text(self) -> str:
        include = ("".join(phrases) for phrases in self.include)  # a phrase, or a list of phrases
        return "".join((self.text, self.prefix, *include, *self.exclude, *(self.vocabulary or ())))


class TranslateRequest(JsonRequest):
    """Lines to translate."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"lines": ["A man sleeps."], "beam": 5, "n_best": 3}]})

    lines: list[SingleLine | LineRequest]
    model: ModelName = None
    beam: PositiveInt | None = None
    n_best: Annotated[PositiveInt | None, Field(description="The number of alternatives, the text included.")] = None
    split: Annotated[bool, Field(description="Split lines into sentences. false: each line is one.")] = True
    outputs: Annotated[
        list[Literal["tokens", "alignment", "attention"]],
        Field(default_factory=list, description="What else to return; tokens: with their scores, and the confidence."),
    ]
    top_tokens: Annotated[NonNegativeInt, Field(description="The number of candidates at each position.")] = 0

    @property
    def options(self) -> DecodeOptions:
        tokens, alignment, attention = (name in self.outputs for name in ("tokens", "alignment", "attention"))
        return DecodeOptions(self.beam, self.n_best, tokens, alignment, attention, self.top_tokens)


class StreamRequest(JsonRequest):
    """A line to translate."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"line": "A man sleeps."}]})

    line: SingleLine | LineRequest
    model: ModelName = None
    beam: PositiveInt | None = None


class ReloadRequest(JsonRequest):
    """The model to reload."""

    model: Annotated[str | None, Field(description="The name of a model; by default all.")] = None


@router.post("/translate", response_model=TranslateResponse, responses=MODEL_ERRORS)
async def translate(body: TranslateRequest, call: JsonCall) -> Response:
    """Translate lines, with constraints, alternatives and details."""
    call.check_key(body.api_key)
    return await call.respond(translate_lines(body, call.models, call.limits))


async def translate_lines(body: TranslateRequest, models: ModelPool, limits: ServerLimits) -> str:
    """Return the JSON of a TranslateResponse."""
    check_line_limits(body.lines, limits)
    model, requests = models.find(body.model), [parse_line(line) for line in body.lines]
    check_limit("beam", body.beam or 0, limits.beam)
    check_limit("n_best", body.n_best or 0, limits.alternatives + 1)
    check_limit("top_tokens", body.top_tokens, limits.top_tokens)
    if body.beam is not None and body.n_best is not None and body.n_best > body.beam:
        raise conflict_error(f"n_best is {body.n_best}, but beam is {body.beam}: lower n_best or raise beam")
    split = model.split if body.split else model.keep_whole
    lines = await asyncio.to_thread(lambda: [split(request) for request in requests])
    translations = await model.translate(lines, body.options)
    return await asyncio.to_thread(_response_json, model.name, translations, body)


def parse_line(line: str | LineRequest) -> Request:
    if isinstance(line, str):
        return Request(line)
    try:
        return request_from_dict(line.model_dump(exclude_none=True))
    except UserError as error:
        raise conflict_error(str(error)) from None


def check_line_limits(lines: Sequence[str | LineRequest], limits: ServerLimits) -> None:
    check_text_limits([line if isinstance(line, str) else line.all_text for line in lines], limits)
    for line in lines:
        check_limit("phrases", 0 if isinstance(line, str) else line.longest_list, limits.phrases)


def _response_json(model: str, lines: Sequence[Translation], body: TranslateRequest) -> str:
    """Return the JSON of a TranslateResponse. Tokens, which some backends always return, are left out by default."""
    records: list[dict[str, Any]] = [line.record() for line in lines]
    if body.split:
        for record, line in zip(records, lines, strict=True):
            sentences = line.sentences or ((line,) if line.text.strip() else ())
            record["sentences"] = [sentence.record() for sentence in sentences]
    if not body.options.tokens:
        for sentence in chain(records, *(record.get("sentences", []) for record in records)):
            sentence.pop("confidence", None)
            for alternative in sentence["alternatives"]:
                del alternative["tokens"], alternative["token_scores"]
    return json.dumps({"model": model, "lines": records}, ensure_ascii=False, allow_nan=False)


class TranslationStream:
    """A line that is being translated. Creating it raises ApiError, so that errors have a status code of their own."""

    def __init__(self, body: StreamRequest, models: ModelPool, limits: ServerLimits):
        check_line_limits([body.line], limits)
        request = parse_line(body.line)
        check_limit("beam", body.beam or 0, limits.beam)
        if request.protect:
            raise conflict_error("line: spans are put in place at the end, so protect cannot be streamed")
        self._loop, self._prefixes = asyncio.get_running_loop(), asyncio.Queue[ServerSentEvent | None]()
        self._is_cancelled = False
        self._model: ServedModel = models.find(body.model)
        self._job = self._model.put([request], DecodeOptions(beam=body.beam, tokens=True), self._on_prefix)

    async def events(self) -> AsyncIterator[ServerSentEvent]:
        """Yield `prefix` events with the text so far, then `translation` or `error`."""
        waiting = asyncio.ensure_future(self._model.finish(self._job))
        waiting.add_done_callback(lambda _: self._prefixes.put_nowait(None))
        try:
            while (event := await self._prefixes.get()) is not None:
                yield event
            yield _event("translation", (await waiting)[0].record())
        except ApiError as error:
            yield _event("error", {"error": error.detail})
        finally:
            self._is_cancelled = True
            waiting.cancel()

    def _on_prefix(self, tokens: list[str], text: str) -> None:
        """Called from the thread that translates."""
        if self._is_cancelled:
            raise JobCancelledError
        if tokens:
            event = _event("prefix", {"tokens": tokens, "text": text})
            self._loop.call_soon_threadsafe(self._prefixes.put_nowait, event)


def _event(name: str, data: object) -> ServerSentEvent:
    return ServerSentEvent(event=name, raw_data=json.dumps(data, ensure_ascii=False, allow_nan=False))


async def open_stream(body: StreamRequest, call: JsonCall) -> TranslationStream:
    call.check_key(body.api_key)
    return TranslationStream(body, call.models, call.limits)


@router.post("/stream", response_class=EventSourceResponse, responses=MODEL_ERRORS)
async def stream(opened: Annotated[TranslationStream, Depends(open_stream)]) -> AsyncIterator[ServerSentEvent]:
    """Translate a line and stream its words as server-sent events.

    `prefix` events have the tokens and the text so far; then comes `translation` with a record of the line, or `error`.
    """
    async for event in opened.events():
        yield event


@router.get("/models", responses=error_responses(403))
async def list_models(call: KeyedCall) -> list[ModelRecord]:
    """List the models."""
    return [
        ModelRecord(
            name=model.name,
            source=model.pair.source,
            target=model.pair.target,
            backend=model.backend,
            fingerprint=model.fingerprint,
            queue=model.waiting,
            examples=list(model.examples),
        )
        for model in call.models.all
    ]


@router.post("/reload", responses=error_responses(*BODY_ERRORS, 404))
async def reload(body: ReloadRequest, call: JsonCall) -> ReloadResponse:
    """Load models again from their folders. Only for servers with API keys."""
    if not call.context.keys:
        raise ApiError(403, "This server has no keys, so reloading over HTTP is disabled. Send it the signal SIGHUP.")
    call.check_key(body.api_key)
    models = call.models.all if body.model is None else [call.models.find(body.model)]
    return ReloadResponse(models=await call.models.reload(models))
