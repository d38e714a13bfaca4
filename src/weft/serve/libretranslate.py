"""The LibreTranslate API: /translate, /detect, /languages."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Annotated, Literal, NamedTuple

from fastapi import APIRouter, Depends
from fastapi.responses import Response
from pydantic import BaseModel, ConfigDict, Field
from pydantic.alias_generators import to_camel

from weft.data.language_detection import DetectedLanguage
from weft.data.languages import LanguagePair, language_name
from weft.inference.translation import Translation
from weft.serve.batch_queue import TEXT_ONLY, DecodeOptions
from weft.serve.dependencies import ApiRequest, Call, NonNegativeInt, json_or_form, json_or_form_schema
from weft.serve.document_split import SplitDocument, split_html, split_text
from weft.serve.http_errors import BODY_ERRORS, ApiError, check_length, check_limit, error_responses
from weft.serve.limits import ServerLimits
from weft.serve.model_pool import ModelPool, ServedModel

AUTO_DETECT = "auto"

router = APIRouter(tags=["LibreTranslate"])


class LibreTranslateRequest(ApiRequest):
    """Texts to translate."""

    q: Annotated[str | list[str], Field(description="A text, or a list of texts.", examples=["A man sleeps."])]
    source: Annotated[str, Field(description="The code of the source language; auto: detect it.")]
    target: Annotated[str, Field(description="The code of the target language.")]
    format: Annotated[
        Literal["text", "html", ""] | None, Field(description="html: keep markup unchanged. Empty: text.")
    ] = "text"
    alternatives: Annotated[NonNegativeInt, Field(description="The number of other translations.")] = 0

    @property
    def texts(self) -> list[str]:
        return [self.q] if isinstance(self.q, str) else self.q


class DetectRequest(ApiRequest):
    """A text whose language to detect."""

    q: Annotated[str, Field(description="A text.", examples=["A man sleeps."])]


class DetectionRecord(BaseModel):
    """A possible language of a text."""

    confidence: Annotated[float, Field(ge=0, le=100, description="In percent.")]
    language: str


class LibreTranslateResponse(BaseModel):
    """The translation of a text; lists for a list of texts."""

    model_config = ConfigDict(alias_generator=to_camel, populate_by_name=True)

    translated_text: str | list[str]
    alternatives: list[str] | list[list[str]] | None = None
    detected_language: DetectionRecord | list[DetectionRecord] | None = None


class LanguageRecord(BaseModel):
    """A language, and those into which it can be translated."""

    code: str
    name: str
    targets: list[str]


@router.post(
    "/translate",
    response_model=LibreTranslateResponse,
    openapi_extra=json_or_form_schema(LibreTranslateRequest),
    responses=error_responses(*BODY_ERRORS, 429, 504),
)
async def translate(
    body: Annotated[LibreTranslateRequest, Depends(json_or_form(LibreTranslateRequest))], call: Call
) -> Response:
    """Translate texts, sentence by sentence."""
    call.check_key(body.api_key)
    return await call.respond(translate_texts(body, call.models, call.limits))


@router.post("/detect", openapi_extra=json_or_form_schema(DetectRequest), responses=error_responses(*BODY_ERRORS))
async def detect(
    body: Annotated[DetectRequest, Depends(json_or_form(DetectRequest))], call: Call
) -> list[DetectionRecord]:
    """Detect in which of the languages of the models a text is."""
    call.check_key(body.api_key)
    check_not_empty(body.q)
    check_text_limits([body.q], call.limits)
    languages = await asyncio.to_thread(call.models.detector, body.q)
    return [DetectionRecord(**language._asdict()) for language in languages]


@router.get("/languages")
async def list_languages(call: Call) -> list[LanguageRecord]:
    """List the languages."""
    return [
        LanguageRecord(code=code, name=language_name(code), targets=call.models.targets_of(code))
        for code in call.models.languages
    ]


class PreparedText(NamedTuple):
    """A text with the model that translates it. `detected`: its language, if it was not given."""

    model: ServedModel
    document: SplitDocument
    detected: DetectedLanguage | None


async def translate_texts(body: LibreTranslateRequest, models: ModelPool, limits: ServerLimits) -> str:
    """Return the JSON of a LibreTranslateResponse. Long texts are split outside of the event loop."""
    check_not_empty(body.q)
    check_text_limits(body.texts, limits)
    check_limit("alternatives", body.alternatives, limits.alternatives)
    prepared = await asyncio.to_thread(_prepare_texts, body, models)
    options = DecodeOptions(n_best=body.alternatives + 1) if body.alternatives else TEXT_ONLY
    translations = await _translate_documents(prepared, options)
    return await asyncio.to_thread(_assemble_response, body, prepared, translations)


def _prepare_texts(body: LibreTranslateRequest, models: ModelPool) -> list[PreparedText]:
    def split(text: str, model: ServedModel) -> SplitDocument:
        return (split_html if body.format == "html" else split_text)(text, model.split)

    if body.source != AUTO_DETECT:
        model = models.find_by_pair(LanguagePair(body.source, body.target))
        return [PreparedText(model, split(text, model), None) for text in body.texts]
    prepared = list[PreparedText]()
    for text in body.texts:
        detected = models.detect_source(text, body.target)
        model = models.find_by_pair(LanguagePair(detected.language, body.target))
        prepared.append(PreparedText(model, split(text, model), detected))
    return prepared


async def _translate_documents(prepared: Sequence[PreparedText], options: DecodeOptions) -> list[list[Translation]]:
    """Translate the lines of each text, all texts of a model in one job."""
    results: list[list[Translation]] = [[] for _ in prepared]
    for model in dict.fromkeys(text.model for text in prepared):
        numbers = [number for number, text in enumerate(prepared) if text.model is model]
        lines = [line for number in numbers for line in prepared[number].document.lines]
        translations = iter(await model.translate(lines, options))
        for number in numbers:
            results[number] = [next(translations) for _ in prepared[number].document.lines]
    return results


def _assemble_response(
    body: LibreTranslateRequest, prepared: Sequence[PreparedText], translations: Sequence[Sequence[Translation]]
) -> str:
    texts, alternatives = list[str](), list[list[str]]()
    for (_, document, _), lines in zip(prepared, translations, strict=True):
        versions = [document.fill(lines, place) for place in range(body.alternatives + 1)]
        texts.append(versions[0])
        alternatives.append(list(dict.fromkeys(other for other in versions[1:] if other != versions[0])))
    detected = [DetectionRecord(**text.detected._asdict()) for text in prepared if text.detected is not None]
    is_single = isinstance(body.q, str)
    response = LibreTranslateResponse(
        translated_text=texts[0] if is_single else texts,
        alternatives=None if not body.alternatives else alternatives[0] if is_single else alternatives,
        detected_language=None if not detected else detected[0] if is_single else detected,
    )
    return response.model_dump_json(by_alias=True, exclude_none=True)


def check_not_empty(text: str | list[str]) -> None:
    if text == "":
        raise ApiError(400, "Invalid request: q: is empty")


def check_text_limits(texts: Sequence[str], limits: ServerLimits) -> None:
    if len(texts) > limits.texts:
        problem = f"This request has {len(texts):,} texts or lines; this server takes {limits.texts:,} at once"
        raise ApiError(400, f"{problem}. Send them in parts.")
    check_length("text", sum(map(len, texts)), limits.characters, "takes")
