"""What endpoints depend on: the parts of the server, API keys, parsed request bodies, and clients that disconnect."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Annotated, Any, TypeAlias, TypeVar
from urllib.parse import parse_qsl

from fastapi import Depends, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import Response
from fastapi.security import HTTPAuthorizationCredentials, HTTPBearer
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError
from python_multipart import FormParser
from python_multipart.multipart import Field as FormField
from python_multipart.multipart import parse_options_header

from weft.serve.auth import ApiKeys
from weft.serve.file_store import FileStore
from weft.serve.http_errors import ApiError, check_limit
from weft.serve.limits import ServerLimits
from weft.serve.middleware import ServerMetrics
from weft.serve.model_pool import ModelPool
from weft.serve.training_status import TrainingStatus

JSON_TYPE = "application/json"
FORM_TYPE, MULTIPART_TYPE = "application/x-www-form-urlencoded", "multipart/form-data"
MAX_FORM_FIELDS = 100
CLIENT_CLOSED_REQUEST = 499  # nginx's status code for it, seen in the metrics alone

ResultT = TypeVar("ResultT")
RequestT = TypeVar("RequestT", bound="ApiRequest")


@dataclass(frozen=True)
class ServerContext:
    """The parts of a server that its endpoints use."""

    models: ModelPool
    limits: ServerLimits
    keys: ApiKeys
    metrics: ServerMetrics = field(default_factory=ServerMetrics)
    training: TrainingStatus = field(default_factory=lambda: TrainingStatus([]))

    @cached_property
    def files(self) -> FileStore:
        """Translated files until they are downloaded."""
        return FileStore(self.limits)


class ApiCall:
    """A request to an endpoint: the parts of the server, the client's API key, and whether it is still connected."""

    def __init__(self, request: Request, bearer_key: str | None):
        context: ServerContext = request.app.state.context
        self.context, self.models, self.limits = context, context.models, context.limits
        self._request, self._bearer_key = request, bearer_key

    def check_key(self, api_key: str | None) -> None:
        """Raise ApiError if a key is required and neither the header nor `api_key` has one."""
        self.context.keys.check(api_key if self._bearer_key is None else self._bearer_key)

    async def respond(self, json: Awaitable[str]) -> Response:
        """Return JSON, unless it is longer than the limit. If the client disconnects first, cancel the work."""
        content = (await cancel_on_disconnect(self._request, json)).encode()
        check_limit("bytes of the response", len(content), self.limits.response_bytes)
        return Response(content, media_type=JSON_TYPE)


BearerCredentials: TypeAlias = Annotated[
    HTTPAuthorizationCredentials | None, Depends(HTTPBearer(auto_error=False, scheme_name="ApiKey"))
]


async def api_call(request: Request, credentials: BearerCredentials) -> ApiCall:
    return ApiCall(request, None if credentials is None else credentials.credentials.strip())


async def json_call(request: Request, credentials: BearerCredentials) -> ApiCall:
    check_content_type(request, (JSON_TYPE,))
    return await api_call(request, credentials)


Call: TypeAlias = Annotated[ApiCall, Depends(api_call)]
JsonCall: TypeAlias = Annotated[ApiCall, Depends(json_call)]


async def keyed_call(call: Call, api_key: str | None = None) -> ApiCall:
    """Check the key of a request without a body: in the header, or in the query."""
    call.check_key(api_key)
    return call


KeyedCall: TypeAlias = Annotated[ApiCall, Depends(keyed_call)]


def _integral_value(value: object) -> object:
    """JSON has one type of numbers: 3.0 is 3."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


NonNegativeInt: TypeAlias = Annotated[int, Field(ge=0), BeforeValidator(_integral_value)]
PositiveInt: TypeAlias = Annotated[int, Field(ge=1), BeforeValidator(_integral_value)]


class ApiRequest(BaseModel):
    """The body of a request."""

    model_config = ConfigDict(frozen=True)

    api_key: Annotated[
        str | None, Field(description="Required if the server has keys, unless the header Authorization has one.")
    ] = None


class JsonRequest(ApiRequest):
    """A JSON body whose types and field names must match exactly."""

    model_config = ConfigDict(frozen=True, strict=True, extra="forbid")


def check_content_type(request: Request, allowed: tuple[str, ...]) -> str:
    """Return the content type ("" if there is none). Raise ApiError if it is not one of these."""
    content_type = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if content_type not in allowed:
        raise ApiError(415, f"Content-Type must be {' or '.join(filter(None, allowed))}")
    return content_type


def json_or_form(model: type[RequestT]) -> Callable[[Request], Awaitable[RequestT]]:
    """Return a dependency that reads a body from JSON, from a form, or from the query, as LibreTranslate does."""

    async def parse(request: Request) -> RequestT:
        content_type = check_content_type(request, (JSON_TYPE, FORM_TYPE, MULTIPART_TYPE, ""))
        body = await request.body()
        try:
            if content_type == JSON_TYPE:
                return model.model_validate_json(body, strict=True)
            query = parse_form(request.scope["query_string"], FORM_TYPE)
            return model.model_validate(query | parse_form(body, request.headers.get("content-type", FORM_TYPE)))
        except ValidationError as error:
            raise RequestValidationError(error.errors()) from None

    return parse


def json_or_form_schema(model: type[ApiRequest]) -> dict[str, Any]:
    """Return the OpenAPI description of a body that `json_or_form` reads. In a form everything is text."""
    schema = model.model_json_schema()
    properties = {name: field.get("anyOf", [field])[0] for name, field in schema["properties"].items()}
    content = {kind: {"schema": {**schema, "properties": properties}} for kind in (FORM_TYPE, MULTIPART_TYPE)}
    return {"requestBody": {"required": True, "content": {JSON_TYPE: {"schema": schema}, **content}}}


def parse_form(body: bytes, content_type: str) -> dict[str, str]:
    """Return the fields of a form; of fields with the same name, the last."""
    try:
        if content_type.strip().lower().startswith(MULTIPART_TYPE):
            return _parse_multipart(body, content_type)
        return dict(parse_qsl(body.decode(), keep_blank_values=True, max_num_fields=MAX_FORM_FIELDS, errors="strict"))
    except ValueError:
        raise ApiError(
            400, f"Invalid request: must be a form in UTF-8 of at most {MAX_FORM_FIELDS} fields, without files"
        ) from None


def _parse_multipart(body: bytes, content_type: str) -> dict[str, str]:
    fields, is_complete = list[tuple[str, str]](), False

    def on_field(field: FormField) -> None:
        if len(fields) == MAX_FORM_FIELDS:
            raise ValueError("too many fields")
        fields.append(((field.field_name or b"").decode(), (field.value or b"").decode()))

    def on_file(_file: object) -> None:
        raise ValueError("files are not allowed")

    def on_end() -> None:
        nonlocal is_complete
        is_complete = True

    boundary = parse_options_header(content_type)[1].get(b"boundary")
    parser = FormParser(MULTIPART_TYPE, on_field, on_file, on_end, boundary)
    parser.write(body)
    parser.finalize()
    if not is_complete:
        raise ValueError("the last part does not end")
    return dict(fields)


async def cancel_on_disconnect(request: Request, work: Awaitable[ResultT]) -> ResultT:
    """Return the result of `work`. Cancel it if the client disconnects. The body must have been read."""
    working, waiting = asyncio.ensure_future(work), asyncio.ensure_future(_wait_for_disconnect(request))
    try:
        await asyncio.wait((working, waiting), return_when=asyncio.FIRST_COMPLETED)
        if not working.done():
            raise ApiError(CLIENT_CLOSED_REQUEST, "The client has disconnected")
        return working.result()
    finally:
        working.cancel()
        waiting.cancel()


async def _wait_for_disconnect(request: Request) -> None:
    while (await request.receive())["type"] != "http.disconnect":
        pass
