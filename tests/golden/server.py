"""Answers of a server with three small models, by their status and their fields under neutral names."""

import json
import os
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.error import HTTPError
from urllib.request import ProxyHandler, Request, build_opener

from golden import names
from golden.http_requests import CALLS, EVENTS, FIELDS, LANGUAGES, LIMITS, MODELS, STATUS_ONLY, VALUES, Call
from golden.workshop import Workshop

Node = dict[str, Any]
PATIENCE = 120.0  # seconds


def answers(workshop: Workshop) -> Node:
    """Compute the answers to all requests, one after the other."""
    with serving(workshop) as address:
        return {label: answer(address, label, call) for label, call in CALLS.items()}


@contextmanager
def serving(workshop: Workshop) -> Iterator[str]:
    """Start the server in a process of its own, and stop it at the end."""
    models = [workshop.run(label) for label in MODELS]
    errors = workshop.runs / "server.txt"
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONUNBUFFERED": "1"}
    command = [sys.executable, *names.serve_arguments(models, LANGUAGES, LIMITS)]
    with errors.open("wb") as file:
        process = subprocess.Popen(command, stdout=file, stderr=file, env=environment)
        try:
            yield address_of(process, errors)
        finally:
            process.terminate()
            process.wait(PATIENCE)


def address_of(process: "subprocess.Popen[bytes]", errors: Path) -> str:
    end = time.monotonic() + PATIENCE
    while True:
        shown = errors.read_text("utf-8")
        if found := re.search(names.SERVING, shown):
            return found[1]
        if process.poll() is not None or time.monotonic() > end:
            raise RuntimeError(f"the server does not start: {shown}")
        time.sleep(0.05)


def answer(address: str, label: str, call: Call) -> Node:
    """Return the status, and the body of a good answer."""
    content = call.body if isinstance(call.body, bytes) or call.body is None else json.dumps(call.body).encode()
    headers = {"Content-Type": call.content_type} | ({} if call.host is None else {"Host": call.host})
    request = Request(address + call.path, content, headers, method=call.method)
    try:
        with build_opener(ProxyHandler({})).open(request, timeout=PATIENCE) as response:
            status, body, kind = response.status, response.read().decode(), response.headers.get_content_type()
    except HTTPError as error:
        error.close()
        return {"status": error.code}
    if label in STATUS_ONLY:
        return {"status": status}
    if kind == "text/event-stream":
        return {"status": status, "events": [event(part, call.path) for part in body.split("\n\n") if part]}
    return {"status": status, "body": neutral(json.loads(body), call.path)}


def event(text: str, path: str) -> Node:
    """Return a server-sent event."""
    name, data = text.split("\n", 1)
    content = json.loads(data.removeprefix("data: "))
    return {"event": EVENTS[name.removeprefix("event: ")], "data": neutral(content, path)}


def neutral(node: Any, path: str, field: str = "") -> Any:
    """Return an answer with neutral names for its fields; floats as hexadecimal."""
    match node:
        case dict():
            labels = {key: label_of(key, path, field) for key in node}
            return {label: neutral(node[key], path, key) for key, label in labels.items() if label is not None}
        case list():
            return [neutral(value, path, field) for value in node]
        case float():
            return node.hex()
        case str():
            return names.neutral(VALUES[field][node] if field in VALUES else node)
    return node


def label_of(key: str, path: str, parent: str) -> str | None:
    """Return the neutral name of a field, which may depend on the endpoint or on the field that contains it."""
    names_of_field = (f"{path} {key}", f"{parent}.{key}", key)
    return FIELDS[next(name for name in names_of_field if name in FIELDS or name == key)]


SERVER = {"answers": answers}
