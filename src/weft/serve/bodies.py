"""What requests say, read within the limits and checked."""

from __future__ import annotations

import asyncio
from typing import Annotated, TypeAlias, TypeVar

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError
from starlette.requests import ClientDisconnect, Request

from weft.serve.forms import FORM, PARTS, pairs_in
from weft.serve.keys import Keys
from weft.serve.limits import Limits
from weft.serve.refusal import RefusedError

PATIENCE = 20  # times the limit of a body: so much is read and thrown away, that its sender may hear of the limit
JSON = "application/json"


def whole(value: object) -> object:
    """JSON knows one kind of numbers: 3.0 is 3."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


Whole: TypeAlias = Annotated[int, Field(ge=0), BeforeValidator(whole)]
Count: TypeAlias = Annotated[int, Field(ge=1), BeforeValidator(whole)]


class Asked(BaseModel):
    """What every request may say."""

    model_config = ConfigDict(frozen=True)

    api_key: Annotated[str | None, Field(description="Needed where the server has keys; or Authorization: Bearer.")] = (
        None
    )


AnyAsked = TypeVar("AnyAsked", bound=Asked)


async def read_json(request: Request, kind: type[AnyAsked], limits: Limits) -> AnyAsked:
    """The body of a request that can be JSON alone."""
    check_type(request, (JSON,))
    body = await read_body(request, limits)
    try:
        return kind.model_validate_json(body, strict=True)
    except ValidationError as error:
        raise RefusedError(400, told(error)) from None


async def read_any(request: Request, kind: type[AnyAsked], limits: Limits) -> AnyAsked:
    """The same of JSON, of a form, or of a query, as the clients of LibreTranslate write it."""
    if check_type(request, (JSON, FORM, PARTS, "")) == JSON:
        return await read_json(request, kind, limits)
    body = await read_body(request, limits)
    asked = pairs_in(request.scope["query_string"], FORM) | pairs_in(body, request.headers.get("content-type", FORM))
    try:
        return kind.model_validate(asked)
    except ValidationError as error:
        raise RefusedError(400, told(error)) from None


def check_type(request: Request, allowed: tuple[str, ...]) -> str:
    """The content type, one of these; none is written ""."""
    found = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if found not in allowed:
        raise RefusedError(415, f"Content-Type should be {' or '.join(filter(None, allowed))}")
    return found


async def read_body(request: Request, limits: Limits) -> bytes:
    """All of it, if it is not too long and comes in time."""
    size, parts = 0, list[bytes]()
    try:
        async with asyncio.timeout(limits.seconds):
            async for part in request.stream():
                size += len(part)
                if size > PATIENCE * limits.body:
                    break
                parts.append(part if size <= limits.body else b"")
    except TimeoutError:
        raise RefusedError(408, f"The request was not there after {limits.seconds} seconds") from None
    except ClientDisconnect:
        raise RefusedError(400, "The request broke off") from None
    if size > limits.body:
        raise RefusedError(413, f"The request has more than {limits.body} bytes, which is the limit")
    return b"".join(parts)


def told(error: ValidationError) -> str:
    """The first thing that is wrong."""
    first = error.errors(include_url=False, include_context=False, include_input=False)[0]
    place = ".".join(str(part) for part in first["loc"])
    return f"Invalid request: {place}: {first['msg']}" if place else f"Invalid request: {first['msg']}"


def check_key(request: Request, keys: Keys, asked: Asked | None = None) -> None:
    """RefusedError, unless the request has a key, or none is needed."""
    keys.check(key_of(request, asked))


def key_of(request: Request, asked: Asked | None = None) -> str | None:
    """The key that a request brings along."""
    scheme, _, key = request.headers.get("authorization", "").partition(" ")
    if scheme.lower() == "bearer":
        return key.strip()
    return asked.api_key if asked is not None else dict(request.query_params).get("api_key")
