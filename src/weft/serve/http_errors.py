"""Errors of the HTTP API: their status codes, their JSON form, and how OpenAPI describes them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pydantic import BaseModel
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

if TYPE_CHECKING:
    from fastapi.exceptions import RequestValidationError

STATUS_DESCRIPTIONS = {
    400: "The request is invalid or exceeds a limit.",
    403: "A valid API key is required.",
    404: "There is no such model.",
    408: "The request body arrived too slowly.",
    409: "The requested options contradict each other, or this model does not support them.",
    413: "The request body is too large.",
    415: "The content type is not supported.",
    429: "Too many requests are waiting. Try again in a moment.",
    504: "The request took too long.",
}
BODY_ERRORS = (400, 403, 408, 413, 415)
CLOSING_STATUSES = (408, 413)  # part of the body may still arrive, so the connection cannot be reused


class ErrorResponse(BaseModel):
    """The body of every error response."""

    error: str


class ApiError(HTTPException):
    """An error reported to the client. The message must not reveal anything about the server's machine."""


def conflict_error(problem: str) -> ApiError:
    """Return an error for options that are valid one by one, but not together or not with this model."""
    return ApiError(409, f"Not possible: {problem}")


def check_limit(name: str, value: int, limit: int) -> None:
    """Raise ApiError if the value is larger than the limit."""
    if value > limit:
        raise ApiError(400, f"Invalid request: {name}: {value}, and the limit is {limit}")


def check_length(subject: str, characters: int, limit: int, verb: str) -> None:
    """Raise ApiError if a text is longer than the limit; `verb`: what the server does with it."""
    if characters > limit:
        raise ApiError(
            400,
            f"This {subject} has {characters:,} characters; this server {verb} {limit:,}. Use a shorter one, or send "
            "it in parts.",
        )


def error_responses(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """Return the `responses` of an endpoint that may answer with these status codes."""
    return {status: {"model": ErrorResponse, "description": STATUS_DESCRIPTIONS[status]} for status in statuses}


async def http_error_response(_request: Request, error: HTTPException) -> Response:
    """Handle ApiError and the errors of the router (404, 405)."""
    headers = dict(error.headers or {})
    if error.status_code in CLOSING_STATUSES:
        headers["Connection"] = "close"
    if error.status_code == 429:
        headers["Retry-After"] = "1"
    return error_response(error.status_code, error.detail, headers)


async def validation_error_response(_request: Request, error: RequestValidationError) -> Response:
    """Report the first of the errors."""
    first = error.errors()[0]
    location = ".".join(str(part) for part in first["loc"] if part != "body")
    return error_response(400, ": ".join(filter(None, ("Invalid request", location, first["msg"]))))


async def server_error_response(_request: Request, _error: Exception) -> Response:
    return error_response(500, "Internal server error.")


def error_response(status: int, message: str, headers: dict[str, str] | None = None) -> Response:
    printable = message.encode("utf-8", "backslashreplace").decode()  # field names may hold lone surrogates
    return JSONResponse({"error": printable}, status, headers)
