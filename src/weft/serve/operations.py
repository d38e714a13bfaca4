"""What can be asked of a server: one table, from which both the routes and their description are made."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

from starlette.requests import Request
from starlette.responses import Response

from weft.serve.bodies import Asked

Endpoint: TypeAlias = Callable[[Request], Awaitable[Response]]
READING = (400, 403, 408, 413, 415)  # why a body is refused
REFUSALS: Mapping[int, str] = {
    400: "The request is not as it should be.",
    403: "A valid API key is needed.",
    404: "There is no such model.",
    408: "The request came too slowly.",
    409: "What is asked for contradicts itself, or cannot be done by this model.",
    413: "The request is too long.",
    415: "The request is of another type than those above.",
    421: "The server does not answer to the name under which it was asked.",
    429: "Too much waits already. Try again in a moment.",
    500: "A fault of the server.",
    504: "It took too long.",
}


@dataclass(frozen=True)
class Operation:
    """answers: a type of JSON; or, in words, what else it is, with its content type. forms: whether the body may also
    be a form. refusals: the other statuses that it may have.
    """

    method: str
    path: str
    summary: str
    endpoint: Endpoint
    answers: Any
    content_type: str = "application/json"
    body: type[Asked] | None = None
    forms: bool = False
    refusals: tuple[int, ...] = ()
