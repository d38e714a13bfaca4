"""LibreTranslate's /translate_file: a document as a form, and the URL of its translation, which is kept for a while."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Iterator
from concurrent.futures import Future
from itertools import islice
from pathlib import PurePath
from typing import Annotated, Any, NamedTuple
from urllib.parse import quote

from fastapi import APIRouter, Depends, Request
from fastapi.responses import Response
from pydantic import BaseModel, ConfigDict
from pydantic.alias_generators import to_camel
from python_multipart import FormParser
from python_multipart.exceptions import FormParserError
from python_multipart.multipart import Field as FormField
from python_multipart.multipart import File, parse_options_header

from weft.core.errors import UserError
from weft.data.languages import LanguagePair
from weft.decoding.constraints.request import Request as LineRequest
from weft.documents.decoded_text import decode_plain_text, split_lines
from weft.documents.document import DocumentFormat, DocumentOptions
from weft.documents.formats import BINARY_FORMATS, FORMATS, find_format
from weft.documents.replacements import Replacement, replace_ranges
from weft.inference.document_translation import TranslationStream, translate_document
from weft.inference.translation import Translation
from weft.serve.batch_queue import TEXT_ONLY
from weft.serve.dependencies import MULTIPART_TYPE, Call, cancel_on_disconnect, check_content_type
from weft.serve.http_errors import BODY_ERRORS, ApiError, check_limit, error_responses
from weft.serve.limits import ServerLimits
from weft.serve.model_pool import ModelPool, ServedModel

AUTO_DETECT = "auto"
PLAIN_TEXT_SUFFIX = ".txt"
FORM_FIELDS = ("source", "target", "api_key")
SAMPLE_CHARACTERS = 10_000  # of a file, by which its language is detected
BINARY_TYPE, TEXT_TYPE = "application/octet-stream", "text/plain; charset=utf-8"
FORM_SCHEMA: dict[str, Any] = {
    "type": "object",
    "required": ["file", "source", "target"],
    "properties": {
        "file": {"type": "string", "format": "binary", "description": "The document."},
        "source": {"type": "string", "description": "The code of the source language; auto: detect it."},
        "target": {"type": "string", "description": "The code of the target language."},
        "api_key": {"type": "string", "description": "Required if the server has keys."},
    },
}

router = APIRouter(tags=["LibreTranslate"])


class TranslatedFileResponse(BaseModel):
    """Where the translated file is, for a limited time."""

    model_config = ConfigDict(alias_generator=to_camel, populate_by_name=True)

    translated_file_url: str


class FrontendSettings(BaseModel):
    """What clients of LibreTranslate read before they offer files."""

    model_config = ConfigDict(alias_generator=to_camel, populate_by_name=True)

    char_limit: int
    key_required: bool
    api_keys: bool
    suggestions: bool = False
    files_translation: bool = True
    supported_files_format: list[str]


class Upload(NamedTuple):
    """The form of /translate_file. name: of the file, without folders."""

    name: str
    content: bytes
    fields: dict[str, str]


@router.post(
    "/translate_file",
    responses=error_responses(*BODY_ERRORS, 429, 504),
    openapi_extra={"requestBody": {"required": True, "content": {MULTIPART_TYPE: {"schema": FORM_SCHEMA}}}},
)
async def translate_file(
    request: Request, upload: Annotated[Upload, Depends(read_upload)], call: Call
) -> TranslatedFileResponse:
    """Translate a document, and keep its format."""
    call.check_key(upload.fields.get("api_key"))
    work = translate_upload(upload, call.models, call.limits)
    content, document_format = await cancel_on_disconnect(request, work)
    path = PurePath(upload.name)
    name = f"{path.stem}.{upload.fields['target']}{path.suffix}"
    is_text = document_format is None or document_format.name not in BINARY_FORMATS
    key = call.context.files.add(name, content, TEXT_TYPE if is_text else BINARY_TYPE)
    return TranslatedFileResponse(translated_file_url=f"{request.base_url}download_file/{key}")


@router.get(
    "/download_file/{name}",
    response_class=Response,
    responses={**error_responses(404), 200: {"content": {BINARY_TYPE: {"schema": {"type": "string"}}}}},
)
async def download_file(name: str, call: Call) -> Response:
    """Return a translated file. Its name is a secret that /translate_file returned."""
    file = call.context.files.get(name)
    if file is None:
        raise ApiError(404, "There is no such file, or it has expired")
    disposition = f"attachment; filename*=UTF-8''{quote(file.name, safe='')}"
    return Response(file.content, media_type=file.media_type, headers={"Content-Disposition": disposition})


@router.get("/frontend/settings")
async def frontend_settings(call: Call) -> FrontendSettings:
    """Return the formats of files, and the limits."""
    suffixes = [suffix for one in FORMATS for suffix in one.suffixes]
    return FrontendSettings(
        char_limit=call.limits.characters,
        key_required=bool(call.context.keys),
        api_keys=bool(call.context.keys),
        supported_files_format=list(dict.fromkeys([PLAIN_TEXT_SUFFIX, *suffixes])),
    )


async def read_upload(request: Request) -> Upload:
    """Read the form of a request; raise ApiError if it has no file or no languages."""
    check_content_type(request, (MULTIPART_TYPE,))
    body = await request.body()
    try:
        upload = _parse_upload(body, request.headers["content-type"])
    except (ValueError, FormParserError):
        raise ApiError(400, "Invalid request: must be a form with a file, source and target") from None
    for name in ("source", "target"):
        if not upload.fields.get(name):
            raise ApiError(400, f"Invalid request: {name}: is missing")
    return upload


def _parse_upload(body: bytes, content_type: str) -> Upload:
    fields, files = dict[str, str](), list[tuple[str, bytes]]()

    def on_field(field: FormField) -> None:
        name = (field.field_name or b"").decode()
        if name in FORM_FIELDS:
            fields[name] = (field.value or b"").decode()

    def on_file(file: File) -> None:
        if files:
            raise ValueError("more than one file")
        file.file_object.seek(0)
        files.append((PurePath((file.file_name or b"").decode().replace("\\", "/")).name, file.file_object.read()))

    boundary = parse_options_header(content_type)[1].get(b"boundary")
    in_memory = {"MAX_MEMORY_FILE_SIZE": len(body) + 1, "MAX_FIELDS": 100}
    parser = FormParser(MULTIPART_TYPE, on_field, on_file, None, boundary, config=in_memory)
    parser.write(body)
    parser.finalize()
    (name, content), *_ = files or [("", b"")]
    if not name:
        raise ValueError("no file")
    return Upload(name, content, fields)


async def translate_upload(
    upload: Upload, models: ModelPool, limits: ServerLimits
) -> tuple[bytes, DocumentFormat | None]:
    """Return the translated file and its format; None: plain text, which is translated line by line."""
    model, pair = _find_model(upload, models)
    loop = asyncio.get_running_loop()

    def stream(requests: Iterable[LineRequest]) -> Iterator[Translation]:
        """Translate from another thread, a job of limited size at a time."""
        remaining, characters = iter(requests), 0
        while chunk := list(islice(remaining, limits.texts)):
            characters += sum(len(request.text) for request in chunk)
            check_limit("characters", characters, limits.file_characters)
            lines = [model.split(request) for request in chunk]
            job: Future[list[Translation]] = asyncio.run_coroutine_threadsafe(model.translate(lines, TEXT_ONLY), loop)
            yield from job.result()

    def translate() -> tuple[bytes, DocumentFormat | None]:
        document_format = find_format(upload.name, upload.content)
        if document_format is None:
            return _translate_text(upload.content, stream), None
        options = DocumentOptions(pair.source, pair.target)
        return translate_document(upload.content, document_format, options, stream).content, document_format

    try:
        return await asyncio.to_thread(translate)
    except UserError as error:
        raise ApiError(400, f"Invalid file: {error}") from None


def _find_model(upload: Upload, models: ModelPool) -> tuple[ServedModel, LanguagePair]:
    source, target = upload.fields["source"], upload.fields["target"]
    if source == AUTO_DETECT:
        sample = upload.content[:SAMPLE_CHARACTERS].decode("utf-8", "ignore")
        source = models.detect_source(sample, target).language
    pair = LanguagePair(source, target)
    return models.find_by_pair(pair), pair


def _translate_text(content: bytes, stream: TranslationStream) -> bytes:
    """Translate the lines of plain text; line ends stay."""
    source = decode_plain_text(content)
    lines = [line for line in split_lines(source.text) if line.text.strip()]
    translations = stream(LineRequest(line.text) for line in lines)
    replacements = [Replacement(line.first, line.end, one.text) for line, one in zip(lines, translations, strict=True)]
    return source.encode(replace_ranges(source.text, replacements))
