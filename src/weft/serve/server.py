"""The server process: listening socket, uvicorn, signals, graceful shutdown."""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import socket
import sys
from collections.abc import Callable, Coroutine, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

import uvicorn

from weft.core.errors import UserError
from weft.serve.app import create_app
from weft.serve.connections import LimitedListener
from weft.serve.dependencies import ServerContext
from weft.serve.limits import ServerLimits
from weft.serve.model_copy import remove_model_copies

EXIT_INTERRUPTED = 130
LISTEN_BACKLOG = 1024  # connections that wait to be accepted
MAX_HEADER_BYTES = 2**17  # some clients write the text into the URL


class StopHandler:
    """A signal handler: the first signal calls `stop`, any other ends the process at once.

    It does not rely on the event loop, which may already be closed while a thread still inspects a model.
    """

    def __init__(self, stop: Callable[[], object]):
        self._stop, self._is_stopping = stop, False

    def __call__(self, _number: int, _frame: object) -> None:
        if self._is_stopping:
            remove_model_copies()
            os._exit(EXIT_INTERRUPTED)  # whatever the threads do
        self._is_stopping = True
        self._stop()


@contextmanager
def open_listener(host: str, port: int, limits: ServerLimits) -> Iterator[LimitedListener]:
    """Bind a socket to an address that nothing else listens at. Port 0 stands for any free port."""
    with ExitStack() as stack:
        try:
            family, _, _, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
            listener = stack.enter_context(LimitedListener(family, limits))
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            listener.bind(address)
        except OSError as error:
            raise UserError(
                f"--host {host} --port {port}: cannot listen there ({error.strerror or error}). If another server is "
                "running there, use another --port; 0 takes a free one."
            ) from None
        yield listener


def run_server(
    context: ServerContext, listener: LimitedListener, hosts: frozenset[str] | None, watch_seconds: float | None
) -> None:
    """Serve until SIGINT or SIGTERM, then finish the requests in progress. SIGHUP reloads the models.

    `hosts`: the host names that the server answers to (None: any). `watch_seconds`: how often to check the model
    folders for changes.
    """
    raise_file_limit(context.limits.connections)
    logging.basicConfig(format="weft: %(message)s", level=logging.WARNING)
    logging.getLogger("weft.serve").setLevel(logging.INFO)
    logging.getLogger("uvicorn").setLevel(logging.ERROR)  # any client could cause warnings about its requests
    logging.getLogger("python_multipart").setLevel(logging.CRITICAL)
    try:
        asyncio.run(_serve(context, listener, hosts, watch_seconds))
    finally:
        remove_model_copies()


async def _serve(
    context: ServerContext, listener: LimitedListener, hosts: frozenset[str] | None, watch_seconds: float | None
) -> None:
    loop, tasks = asyncio.get_running_loop(), set[asyncio.Task[object]]()

    def start_task(work: Coroutine[Any, Any, object]) -> None:
        task = asyncio.create_task(work)
        tasks.add(task)
        task.add_done_callback(tasks.discard)

    def stop() -> None:
        server.should_exit = True

    def reload() -> None:
        start_task(context.models.reload(context.models.all))

    stop_handler = StopHandler(stop)

    def handle_signals() -> None:
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, stop_handler)
        if sys.platform != "win32":
            signal.signal(signal.SIGHUP, lambda *_: loop.call_soon_threadsafe(reload))

    def on_startup() -> None:
        handle_signals()  # uvicorn has set its own handlers, and will restore those from before at its end
        announce_server(context, listener)

    config = uvicorn.Config(
        listener.track_requests(create_app(context, hosts, on_startup)),
        http="h11",
        ws="none",
        lifespan="on",
        access_log=False,
        log_config=None,
        server_header=False,
        proxy_headers=False,
        timeout_keep_alive=context.limits.idle_timeout,
        timeout_graceful_shutdown=context.limits.timeout + 5,
        h11_max_incomplete_event_size=MAX_HEADER_BYTES,
        backlog=LISTEN_BACKLOG,
    )
    server = uvicorn.Server(config)
    handle_signals()
    start_task(listener.close_expired())
    if watch_seconds is not None:
        start_task(context.models.watch(watch_seconds))
    await server.serve([listener])
    for task in set(tasks):
        task.cancel()


def announce_server(context: ServerContext, listener: socket.socket) -> None:
    """Start to accept connections, and print what is served at which address."""
    listener.listen(LISTEN_BACKLOG)
    for model in context.models.all:
        print(f"weft: {model.name}: {model.pair.source} to {model.pair.target}, by {model.backend}", file=sys.stderr)
    for run in context.training.runs:
        print(f"weft: {run.name}: training is shown at /training", file=sys.stderr)
    host, port = listener.getsockname()[:2]
    address = f"[{host}]" if ":" in host else host
    print(f"weft: serving at http://{address}:{port}", file=sys.stderr, flush=True)


def raise_file_limit(connections: int) -> None:
    """Allow as many open files as there may be connections: the usual limit is lower."""
    if sys.platform == "win32":
        return
    import resource

    needed, (soft, hard) = connections + 256, resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft != resource.RLIM_INFINITY and soft < needed:
        limit = needed if hard == resource.RLIM_INFINITY else min(needed, hard)
        resource.setrlimit(resource.RLIMIT_NOFILE, (limit, hard))
