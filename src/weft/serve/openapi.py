"""The description of a server (OpenAPI 3.1), made of what checks the requests: the same types, limits and languages."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.metadata import version
from typing import Any

from pydantic import TypeAdapter

from weft.serve.bodies import JSON
from weft.serve.forms import FORM, PARTS
from weft.serve.libretranslate import AUTO
from weft.serve.limits import Limits
from weft.serve.operations import REFUSALS, Operation
from weft.serve.records import Error
from weft.serve.served import Models

Node = dict[str, Any]
PLACE = "#/components/schemas/{model}"
OTHERS: dict[str, Node] = {
    "text/plain": {"type": "string"},
    "text/event-stream": {
        "type": "object",
        "properties": {"event": {"enum": ["prefix", "translation", "error"]}, "data": {"type": "string"}},
        "required": ["event", "data"],
    },
}


def describe(operations: Sequence[Operation], models: Models, limits: Limits) -> Node:
    """The whole document."""
    schemas, definitions = schemas_of(operations)
    if models.all:
        add_limits(definitions, models, limits)
    for one in operations:
        if one.body is not None and one.forms:
            schemas[f"form {one.path}"] = as_form(definitions[one.body.__name__])
    paths: Node = {}
    for operation in operations:
        paths.setdefault(operation.path, {})[operation.method.lower()] = described(operation, schemas)
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "Weft",
            "version": version("weft"),
            "description": "Translation. /translate, /languages and /detect are those of LibreTranslate.",
        },
        "paths": paths,
        "components": {
            "schemas": definitions,
            "securitySchemes": {"key": {"type": "http", "scheme": "bearer"}},
        },
        "security": [{}, {"key": []}],
    }


def schemas_of(operations: Sequence[Operation]) -> tuple[dict[str, Node], Node]:
    """The schema of each operation's body and answer, by "body /path" and "answer /path", and what they refer to."""
    wanted: list[tuple[str, Any, TypeAdapter[Any]]] = [("error", "serialization", TypeAdapter(Error))]
    for one in operations:
        if one.body is not None:
            wanted.append((f"body {one.path}", "validation", TypeAdapter(one.body)))
        if one.content_type == JSON:
            wanted.append((f"answer {one.path}", "serialization", TypeAdapter(one.answers)))
    found, document = TypeAdapter.json_schemas(wanted, ref_template=PLACE)
    return {name: schema for (name, _), schema in found.items()}, document.get("$defs", {})


def described(operation: Operation, schemas: dict[str, Node]) -> Node:
    """One operation."""
    is_json = operation.content_type == JSON
    schema = schemas[f"answer {operation.path}"] if is_json else OTHERS[operation.content_type]
    answered = operation.summary if is_json else operation.answers
    node: Node = {
        "summary": operation.summary,
        "operationId": operation.path.strip("/").replace("/", "-").replace(".", "-"),
        "responses": {
            "200": {"description": answered, "content": {operation.content_type: {"schema": schema}}},
            **{
                str(status): {"description": REFUSALS[status], "content": {JSON: {"schema": schemas["error"]}}}
                for status in (*operation.refusals, 421, 500)
            },
        },
    }
    if operation.body is not None:
        content = {JSON: {"schema": schemas[f"body {operation.path}"]}}
        if operation.forms:
            content |= {kind: {"schema": schemas[f"form {operation.path}"]} for kind in (FORM, PARTS)}
        node["requestBody"] = {"required": True, "content": content}
    return node


def as_form(schema: Node) -> Node:
    """The same as a form has it: all is text, so there is no list and no null."""
    properties = {name: one.get("anyOf", [one])[0] for name, one in schema["properties"].items()}
    return {**schema, "properties": properties}


def add_limits(schemas: Node, models: Models, limits: Limits) -> None:
    """What only this server knows: its languages, its models, and how much it takes."""
    names = {"enum": [one.name for one in models.all]}
    translate, lines, line = (schemas[name]["properties"] for name in ("Translate", "TranslateLines", "Line"))
    text, texts = translate["q"]["anyOf"]
    text |= {"minLength": 1, "maxLength": limits.characters}
    texts |= {"maxItems": limits.texts}
    translate["source"] |= {"enum": [*models.sources, AUTO]}
    translate["target"] |= {"enum": list(dict.fromkeys(pair.target for pair in models.pairs))}
    schemas["Translate"]["anyOf"] = [
        {"properties": {"source": {"enum": [source, AUTO]}, "target": {"enum": models.targets_of(source)}}}
        for source in models.sources
    ]
    translate["alternatives"] |= {"maximum": limits.alternatives}
    schemas["Detect"]["properties"]["q"] |= {"minLength": 1, "maxLength": limits.characters}
    lines["lines"] |= {"maxItems": limits.texts}
    lines["likeliest"] |= {"maximum": limits.likeliest}
    inside = schemas["LookInside"]["properties"]
    inside["others"] |= {"maximum": limits.likeliest}
    for schema in (lines, schemas["StreamLine"]["properties"], inside):
        schema["beam"]["anyOf"][0] |= {"maximum": limits.beam}
    lines["best"]["anyOf"][0] |= {"maximum": limits.alternatives + 1}
    for name in ("TranslateLines", "StreamLine", "LookInside", "Reload"):
        schemas[name]["properties"]["model"]["anyOf"][0] |= names
    for phrases in (line["include"], line["include"]["items"]["anyOf"][1], line["exclude"]):
        phrases |= {"maxItems": limits.phrases}
