"""The LibreTranslate API: /translate, /detect, /languages."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Annotated, Literal, NamedTuple

from fastapi import APIRouter, Depends
from fastapi import Request as HttpRequest
from fastapi.responses import Response
from pydantic import BaseModel, ConfigDict, Field
from pydantic.alias_generators import to_camel

from weft.data.languages import DetectedLanguage, LanguagePair, detect_language, language_name
from weft.decoding.constraints.request import Request
from weft.inference.translation import Translation
from weft.serve.batch_queue import TEXT_ONLY, DecodeOptions
from weft.serve.dependencies import (
    ApiRequest,
    BearerKey,
    Context,
    NonNegativeInt,
    cancel_on_disconnect,
    json_or_form,
    json_or_form_schema,
)
from weft.serve.document_split import SplitDocument, split_html, split_text
from weft.serve.http_errors import BODY_ERRORS, ApiError, error_responses, limit_error
from weft.serve.limits import ServerLimits
from weft.serve.model_pool import ModelPool, ServedModel

AUTO_DETECT = "auto"

router = APIRouter(tags=["LibreTranslate"])


class LibreTranslateRequest(ApiRequest):
    """Texts to translate."""

    q: Annotated[str | list[str], Field(description="A text, or a list of texts.", examples=["A man sleeps."])]
    source: Annotated[str, Field(description="The code of the source language; auto: detect it by its script.")]
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
    request: HttpRequest,
    body: Annotated[LibreTranslateRequest, Depends(json_or_form(LibreTranslateRequest))],
    context: Context,
    bearer: BearerKey,
) -> Response:
    """Translate texts, sentence by sentence."""
    context.keys.check(body.api_key if bearer is None else bearer)
    work = translate_texts(body, context.models, context.limits)
    response = await cancel_on_disconnect(request, work)
    return context.json_response(response.model_dump_json(by_alias=True, exclude_none=True))


@router.post("/detect", openapi_extra=json_or_form_schema(DetectRequest), responses=error_responses(*BODY_ERRORS))
async def detect(
    body: Annotated[DetectRequest, Depends(json_or_form(DetectRequest))], context: Context, bearer: BearerKey
) -> list[DetectionRecord]:
    """Detect the language of a text, by its script."""
    context.keys.check(body.api_key if bearer is None else bearer)
    check_not_empty(body.q)
    check_text_limits([body.q], context.limits)
    return [_detection_record(language) for language in detect_language(body.q, context.models.sources)]


@router.get("/languages")
async def list_languages(context: Context) -> list[LanguageRecord]:
    """List the languages."""
    models = context.models
    return [
        LanguageRecord(code=code, name=language_name(code), targets=models.targets_of(code))
        for code in models.languages
    ]


class PreparedTexts(NamedTuple):
    """The model and the sentences of each text. `detected`: their languages, if they were not given."""

    models: list[ServedModel]
    documents: list[SplitDocument]
    detected: list[DetectionRecord]


async def translate_texts(
    body: LibreTranslateRequest, models: ModelPool, limits: ServerLimits
) -> LibreTranslateResponse:
    """Translate all sentences and put them back in place. Long texts are split outside of the event loop."""
    check_not_empty(body.q)
    check_text_limits(body.texts, limits)
    if body.alternatives > limits.alternatives:
        raise limit_error("alternatives", body.alternatives, limits.alternatives)
    prepared = await asyncio.to_thread(_prepare_texts, body, models)
    options = DecodeOptions(n_best=body.alternatives + 1) if body.alternatives else TEXT_ONLY
    translations = await _translate_documents(prepared.models, prepared.documents, options)
    return await asyncio.to_thread(_assemble_response, body, prepared, translations)


def _prepare_texts(body: LibreTranslateRequest, models: ModelPool) -> PreparedTexts:
    detected = list[DetectedLanguage]()
    if body.source == AUTO_DETECT:
        sources = models.sources_of(body.target)
        detected = [_detect_source(text, sources) for text in body.texts]
        chosen = [models.find_by_pair(LanguagePair(one.language, body.target)) for one in detected]
    else:
        chosen = [models.find_by_pair(LanguagePair(body.source, body.target))] * len(body.texts)
    split = split_html if body.format == "html" else split_text
    documents = [split(text, model.splitter) for text, model in zip(body.texts, chosen, strict=True)]
    return PreparedTexts(chosen, documents, [_detection_record(language) for language in detected])


def _assemble_response(
    body: LibreTranslateRequest, prepared: PreparedTexts, translations: Sequence[Sequence[Translation]]
) -> LibreTranslateResponse:
    texts, alternatives = list[str](), list[list[str]]()
    for document, sentences in zip(prepared.documents, translations, strict=True):
        texts.append(document.fill([sentence.text for sentence in sentences]))
        alternatives.append(_document_alternatives(document, sentences, body.alternatives))
    is_single = isinstance(body.q, str)
    detected = prepared.detected or None
    return LibreTranslateResponse(
        translated_text=texts[0] if is_single else texts,
        alternatives=None if not body.alternatives else alternatives[0] if is_single else alternatives,
        detected_language=detected[0] if detected and is_single else detected,
    )


def check_not_empty(text: str | list[str]) -> None:
    if text == "":
        raise ApiError(400, "Invalid request: q: is empty")


def check_text_limits(texts: Sequence[str], limits: ServerLimits) -> None:
    if len(texts) > limits.texts:
        raise limit_error("texts", len(texts), limits.texts)
    characters = sum(map(len, texts))
    if characters > limits.characters:
        raise limit_error("characters", characters, limits.characters)


def _detect_source(text: str, sources: Sequence[str]) -> DetectedLanguage:
    """Return the most probable language; the first of `sources` if the script does not tell."""
    return next(iter(detect_language(text, sources)), DetectedLanguage(0.0, sources[0]))


def _detection_record(language: DetectedLanguage) -> DetectionRecord:
    return DetectionRecord(**language._asdict())


async def _translate_documents(
    models: Sequence[ServedModel], documents: Sequence[SplitDocument], options: DecodeOptions
) -> list[list[Translation]]:
    """Translate the sentences of each document, all of one model in one job."""
    results: list[list[Translation]] = [[] for _ in models]
    for model in dict.fromkeys(models):
        numbers = [number for number, other in enumerate(models) if other is model]
        requests = [Request(sentence) for number in numbers for sentence in documents[number].sentences]
        translations = iter(await model.translate(requests, options))
        for number in numbers:
            results[number] = [next(translations) for _ in documents[number].sentences]
    return results


def _document_alternatives(document: SplitDocument, sentences: Sequence[Translation], count: int) -> list[str]:
    """Return other documents: from the second-best sentences, from the third-best ... without duplicates."""
    best, *others = [
        document.fill([one.alternatives[min(rank, len(one.alternatives) - 1)].text for one in sentences])
        for rank in range(count + 1)
    ]
    return list(dict.fromkeys(other for other in others if other != best))
