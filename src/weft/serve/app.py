"""The application: what can be asked, and who answers it."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route

from weft.serve import libretranslate, v1
from weft.serve.bodies import check_key, key_of, read_any, read_json
from weft.serve.hosts import OnlyAs
from weft.serve.inside import KINDS, Kind, LookInside, look_inside
from weft.serve.keys import Keys
from weft.serve.leaving import while_there
from weft.serve.libretranslate import Detect, Health, Language, Translate, Translated
from weft.serve.limits import Limits
from weft.serve.metrics import CONTENT_TYPE, Metrics
from weft.serve.middle import Middle
from weft.serve.openapi import describe
from weft.serve.operations import READING, Endpoint, Operation
from weft.serve.playground import HOME, TRAINING, page_routes
from weft.serve.records import Answer, Model, Reloaded
from weft.serve.refusal import RefusedError, too_much
from weft.serve.served import Models
from weft.serve.stream import Writing
from weft.serve.training import Training, TrainingRun

ENDING = (408, 413)  # after these, what else comes on the connection is not to be understood


@dataclass(frozen=True)
class Api:
    """The endpoints, with all that they need."""

    models: Models
    limits: Limits
    keys: Keys
    metrics: Metrics = field(default_factory=Metrics)
    training: Training = field(default_factory=lambda: Training([]))

    async def translate(self, request: Request) -> Response:
        asked = await read_any(request, Translate, self.limits)
        check_key(request, self.keys, asked)
        found = await while_there(request, libretranslate.translate(asked, self.models, self.limits))
        return self.told(found.model_dump_json(by_alias=True, exclude_none=True))

    async def detect(self, request: Request) -> Response:
        asked = await read_any(request, Detect, self.limits)
        check_key(request, self.keys, asked)
        return JSONResponse([one.model_dump() for one in libretranslate.detect(asked, self.models, self.limits)])

    async def languages(self, _request: Request) -> Response:
        return JSONResponse([one.model_dump() for one in libretranslate.languages(self.models)])

    async def health(self, _request: Request) -> Response:
        return JSONResponse(Health().model_dump())

    async def measured(self, request: Request) -> Response:
        check_key(request, self.keys)
        waiting = {one.name: one.waiting for one in self.models.all}
        return Response(self.metrics.text(waiting), media_type=CONTENT_TYPE)

    async def translate_lines(self, request: Request) -> Response:
        asked = await read_json(request, v1.TranslateLines, self.limits)
        check_key(request, self.keys, asked)
        return self.told(await while_there(request, v1.translate(asked, self.models, self.limits)))

    async def stream_line(self, request: Request) -> Response:
        asked = await read_json(request, v1.StreamLine, self.limits)
        check_key(request, self.keys, asked)
        writing = Writing(asked, self.models, self.limits)
        return StreamingResponse(writing.events(), media_type="text/event-stream")

    def inspected(self, kind: Kind) -> Endpoint:
        """Of a kind of looks, its endpoint."""

        async def endpoint(request: Request) -> Response:
            asked = await read_json(request, LookInside, self.limits)
            check_key(request, self.keys, asked)
            return self.told(await while_there(request, look_inside(kind, asked, self.models, self.limits)))

        return endpoint

    async def told_models(self, request: Request) -> Response:
        check_key(request, self.keys)
        return JSONResponse([one.model_dump() for one in v1.models_told(self.models)])

    async def told_training(self, request: Request) -> Response:
        check_key(request, self.keys)
        return Response(await self.training.tell(), media_type="application/json")

    async def reload(self, request: Request) -> Response:
        asked = await read_json(request, v1.Reload, self.limits)
        if not self.keys:
            raise RefusedError(403, "This server has no keys, so nobody may ask for this: send it the signal SIGHUP.")
        self.keys.check(key_of(request, asked))
        chosen = self.models.all if asked.model is None else [self.models.named(asked.model)]
        return JSONResponse(Reloaded(models=await self.models.reload(chosen)).model_dump())

    async def description(self, _request: Request) -> Response:
        return JSONResponse(self.described)

    @cached_property
    def described(self) -> dict[str, Any]:
        return describe(self.operations(), self.models, self.limits)

    def told(self, answer: str) -> Response:
        """JSON, if it is not too long."""
        content = answer.encode()
        if len(content) > self.limits.answer:
            raise too_much("bytes of the answer", len(content), self.limits.answer)
        return Response(content, media_type="application/json")

    def operations(self) -> list[Operation]:
        """Everything that can be asked."""
        return [*(self._of_models() if self.models.all else []), *self._of_the_server()]

    def _of_models(self) -> list[Operation]:
        working = (*READING, 429, 504)
        return [
            Operation(
                "POST",
                "/translate",
                "Translate texts, sentence by sentence.",
                self.translate,
                Translated,
                body=Translate,
                forms=True,
                refusals=working,
            ),
            Operation(
                "POST",
                "/detect",
                "The language of a text, by its script.",
                self.detect,
                list[libretranslate.Detected],
                body=Detect,
                forms=True,
                refusals=READING,
            ),
            Operation("GET", "/languages", "The languages.", self.languages, list[Language]),
            Operation(
                "POST",
                "/v1/translate",
                "Translate lines, and tell what is known of them.",
                self.translate_lines,
                Answer,
                body=v1.TranslateLines,
                refusals=(*working, 404, 409),
            ),
            Operation(
                "POST",
                "/v1/stream",
                "Translate a line, and tell its words as they are written.",
                self.stream_line,
                "Server-sent events: prefix with pieces and text so far, then translation with a record, or error.",
                content_type="text/event-stream",
                body=v1.StreamLine,
                refusals=(*working, 404, 409),
            ),
            *(
                Operation(
                    "POST",
                    f"/v1/inspect/{kind.name}",
                    kind.summary,
                    self.inspected(kind),
                    kind.record,
                    body=LookInside,
                    refusals=(*working, 404, 409),
                )
                for kind in KINDS
            ),
            Operation("GET", "/v1/models", "The models.", self.told_models, list[Model], refusals=(403,)),
            Operation(
                "POST",
                "/v1/reload",
                "Load models anew from their folders.",
                self.reload,
                Reloaded,
                body=v1.Reload,
                refusals=(*READING, 404),
            ),
        ]

    def _of_the_server(self) -> list[Operation]:
        """What can be asked of one that has no models, too."""
        return [
            Operation(
                "GET",
                "/v1/training",
                "The training of the runs that --training names.",
                self.told_training,
                list[TrainingRun],
                refusals=(403,),
            ),
            Operation("GET", "/health", "Does the server answer?", self.health, Health),
            Operation(
                "GET",
                "/metrics",
                "What was counted.",
                self.measured,
                "In the text format of Prometheus.",
                content_type="text/plain",
                refusals=(403,),
            ),
            Operation("GET", "/openapi.json", "This description.", self.description, dict[str, Any]),
        ]


def application(api: Api, hosts: frozenset[str] | None, begin: Callable[[], None]) -> Starlette:
    """The whole as an ASGI application. hosts: its names (hosts.py). begin: what to do once it runs."""

    @asynccontextmanager
    async def lifespan(_app: Starlette) -> AsyncIterator[None]:
        begin()
        yield
        await api.models.close()

    routes = [Route(one.path, one.endpoint, methods=[one.method]) for one in api.operations()] + page_routes(
        HOME if api.models.all else TRAINING
    )
    return Starlette(
        routes=routes,
        middleware=[Middleware(Middle, api.metrics, [one.path for one in routes]), Middleware(OnlyAs, hosts)],
        exception_handlers={RefusedError: refused, HTTPException: not_found, Exception: failed},
        lifespan=lifespan,
    )


async def refused(_request: Request, error: Exception) -> Response:
    status = error.status if isinstance(error, RefusedError) else 500
    headers = {"Connection": "close"} if status in ENDING else {"Retry-After": "1"} if status == 429 else None
    return JSONResponse({"error": str(error)}, status, headers)


async def not_found(_request: Request, error: Exception) -> Response:
    """A path or a method that is not served."""
    status, headers = (error.status_code, error.headers) if isinstance(error, HTTPException) else (500, None)
    return JSONResponse({"error": "Not found" if status == 404 else "Method not allowed"}, status, headers)


async def failed(_request: Request, _error: Exception) -> Response:
    return JSONResponse({"error": "A fault of the server."}, 500)
