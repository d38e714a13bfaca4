"""The ASGI application: API endpoints, the playground, training and API pages, error handlers, OpenAPI."""

from __future__ import annotations

import copy
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from importlib.metadata import version
from itertools import chain
from pathlib import Path
from typing import Any, Literal

from fastapi import APIRouter, FastAPI
from fastapi.exceptions import RequestValidationError
from fastapi.responses import Response
from fastapi.staticfiles import StaticFiles
from prometheus_client import CONTENT_TYPE_LATEST, generate_latest
from pydantic import BaseModel
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.routing import Route

from weft.serve import api_v1, file_translation, inspection, libretranslate
from weft.serve.auth import HostCheckMiddleware
from weft.serve.dependencies import JSON_TYPE, KeyedCall, ServerContext
from weft.serve.http_errors import (
    ErrorResponse,
    error_responses,
    http_error_response,
    server_error_response,
    validation_error_response,
)
from weft.serve.limits import ServerLimits
from weft.serve.middleware import BodyLimitMiddleware, RequestMiddleware
from weft.serve.model_pool import ModelPool
from weft.serve.training_status import TrainingRunRecord

PAGE_FOLDER = Path(__file__).parent / "static"
PAGE_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self'; base-uri 'none'; "
    "form-action 'none'; frame-ancestors 'none'"
)
DOCS_POLICY = PAGE_POLICY.replace("img-src 'self'", "img-src 'self' data:")  # icons in Swagger UI's style sheet
DESCRIPTION = """Translation. /translate, /detect and /languages are those of LibreTranslate.

Every error has a JSON body with the field `error`."""

server_router = APIRouter(tags=["Server"])


class HealthResponse(BaseModel):
    """The server is running."""

    status: Literal["ok"] = "ok"


@server_router.get("/health")
async def health() -> HealthResponse:
    """Check that the server is running."""
    return HealthResponse()


@server_router.get(
    "/metrics",
    response_class=Response,
    responses={**error_responses(403), 200: {"content": {"text/plain": {"schema": {"type": "string"}}}}},
)
async def metrics(call: KeyedCall) -> Response:
    """Return metrics in the text format of Prometheus."""
    return Response(generate_latest(call.context.metrics.registry), media_type=CONTENT_TYPE_LATEST)


@server_router.get("/v1/training", response_model=list[TrainingRunRecord], responses=error_responses(403))
async def training(call: KeyedCall) -> Response:
    """Return the progress of the runs named by --training."""
    return Response(await call.context.training.json(), media_type=JSON_TYPE)


class TranslationServer(FastAPI):
    """The application. Its OpenAPI document states the limits, languages and models of this server."""

    def openapi(self) -> dict[str, Any]:
        if self.openapi_schema is None:
            document = copy.deepcopy(super().openapi())
            for operation in chain.from_iterable(path.values() for path in document["paths"].values()):
                operation["summary"], _, operation["description"] = operation["description"].partition("\n\n")
                if "security" in operation:
                    operation["security"].append({})  # optional: the server may have no keys, or api_key is used
            context: ServerContext = self.state.context
            if context.models.all:
                _add_server_limits(document, context.models, context.limits)
                for status, response in document["paths"]["/v1/stream"]["post"]["responses"].items():
                    if status != "200":  # FastAPI gives errors the content type of the stream
                        response["content"] = {JSON_TYPE: response["content"].pop("text/event-stream")}
            self.openapi_schema = document
        return self.openapi_schema


def create_app(
    context: ServerContext, hosts: frozenset[str] | None, on_startup: Callable[[], None]
) -> TranslationServer:
    """Build the application. `hosts`: the host names that it answers to (None: any)."""

    @asynccontextmanager
    async def lifespan(_app: FastAPI) -> AsyncIterator[None]:
        on_startup()
        yield
        await context.models.close()

    app = TranslationServer(
        title="Weft",
        version=version("weft"),
        description=DESCRIPTION,
        telemetry={"tracing": False, "metrics": False, "logs": False},  # /metrics has its own
        docs_url=None,
        redoc_url=None,
        responses={"default": {"model": ErrorResponse, "description": "Any other error."}},
        exception_handlers={
            HTTPException: http_error_response,
            RequestValidationError: validation_error_response,
            Exception: server_error_response,
        },
        generate_unique_id_function=lambda route: route.path.strip("/").replace("/", "-"),
        lifespan=lifespan,
    )
    app.state.context = context
    routers = [server_router]
    if context.models.all:
        routers = [libretranslate.router, file_translation.router, api_v1.router, inspection.router, server_router]
    for router in routers:
        app.include_router(router)
    _add_pages(app, "index.html" if context.models.all else "training.html")
    routes = [*app.routes, *(route for router in routers for route in router.routes)]
    paths = {route.path for route in routes if isinstance(route, Route)}
    app.add_middleware(BodyLimitMiddleware, limits=context.limits)
    app.add_middleware(HostCheckMiddleware, hosts=hosts)
    app.add_middleware(RequestMiddleware, metrics=context.metrics, paths=paths)
    return app


def _add_pages(app: FastAPI, home: str) -> None:
    """Serve the pages at /, /training and /docs, and the files that they load (Swagger UI's too) at /static."""
    static = StaticFiles(directory=PAGE_FOLDER, packages=[("fastapi_swagger", "resources")])

    def add_page(path: str, name: str, policy: str) -> None:
        async def page(request: Request) -> Response:
            response = await static.get_response(name, request.scope)
            response.headers["Content-Security-Policy"] = policy
            return response

        app.add_route(path, page, include_in_schema=False)

    add_page("/", home, PAGE_POLICY)
    add_page("/training", "training.html", PAGE_POLICY)
    add_page("/docs", "docs.html", DOCS_POLICY)
    app.mount("/static", static)


def _add_server_limits(document: dict[str, Any], models: ModelPool, limits: ServerLimits) -> None:
    """Add what only this server knows: its languages, its models, and its limits."""
    content = document["paths"]["/translate"]["post"]["requestBody"]["content"]
    for media in content.values():
        schema, fields = media["schema"], media["schema"]["properties"]
        text, *lists = fields["q"].get("anyOf", [fields["q"]])
        text |= {"minLength": 1, "maxLength": limits.characters}
        for texts in lists:
            texts["maxItems"] = limits.texts
        fields["source"]["enum"] = [*models.sources, libretranslate.AUTO_DETECT]
        fields["target"]["enum"] = list(dict.fromkeys(pair.target for pair in models.pairs))
        fields["alternatives"]["maximum"] = limits.alternatives
        schema["anyOf"] = [
            {
                "properties": {
                    "source": {"enum": [source, libretranslate.AUTO_DETECT]},
                    "target": {"enum": models.targets_of(source)},
                }
            }
            for source in models.sources
        ]
    for media in document["paths"]["/detect"]["post"]["requestBody"]["content"].values():
        media["schema"]["properties"]["q"] |= {"minLength": 1, "maxLength": limits.characters}
    schemas = document["components"]["schemas"]
    lines, stream, inspect, reload, line = (
        schemas[name]["properties"]
        for name in ("TranslateRequest", "StreamRequest", "InspectionRequest", "ReloadRequest", "LineRequest")
    )
    for fields in (lines, stream, inspect, reload):
        fields["model"]["anyOf"][0]["enum"] = [model.name for model in models.all]
    for fields in (lines, stream, inspect):
        fields["beam"]["anyOf"][0]["maximum"] = limits.beam
    lines["lines"]["maxItems"] = limits.texts
    lines["top_tokens"]["maximum"] = inspect["alternatives"]["maximum"] = limits.top_tokens
    lines["n_best"]["anyOf"][0]["maximum"] = limits.alternatives + 1
    for phrases in (line["include"], line["include"]["items"]["anyOf"][1], line["exclude"]):
        phrases["maxItems"] = limits.phrases
