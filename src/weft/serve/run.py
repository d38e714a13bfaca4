"""A server from its start to its end."""

from __future__ import annotations

import asyncio
import logging
import signal
import socket
import sys
from collections.abc import Coroutine, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

import uvicorn
from starlette.applications import Starlette

from weft.core.errors import UserError
from weft.serve.app import Api, application
from weft.serve.connections import protocol_of
from weft.serve.snapshot import remove_all
from weft.serve.stopping import Stopping

BACKLOG = 1024  # connections that wait to be accepted
HEAD = 2**17  # bytes of the head of a request: clients that write the text into the address need some


class Server(uvicorn.Server):
    """Signals are seen to by whoever runs it, so that a stop is no failure."""

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


@contextmanager
def listening(host: str, port: int) -> Iterator[socket.socket]:
    """A socket that nobody else listens at. Port 0: one that is free."""
    with ExitStack() as stack:
        try:
            family, kind, _, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
            listener = stack.enter_context(socket.socket(family, kind))
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            listener.bind(address)
        except OSError as error:
            raise UserError(
                f"--host {host} --port {port}: cannot be listened at ({error.strerror or error}): is another server "
                "running there? Try another --port; 0 takes one that is free."
            ) from None
        yield listener


def serve(api: Api, listener: socket.socket, hosts: frozenset[str] | None, watch_seconds: float | None) -> None:
    """Answer until SIGINT or SIGTERM; then finish what was accepted. SIGHUP: load the models anew.

    hosts: the names to which it answers (hosts.py).
    """
    raise_file_limit(api.limits.connections)
    log_to_standard_error()
    app = application(api, hosts, lambda: begin(api, listener))
    try:
        asyncio.run(_serve(app, api, listener, watch_seconds))
    finally:
        remove_all()


async def _serve(app: Starlette, api: Api, listener: socket.socket, watch_seconds: float | None) -> None:
    config = uvicorn.Config(
        app,
        http=protocol_of(api.limits),
        ws="none",
        lifespan="on",
        access_log=False,
        log_config=None,
        server_header=False,
        timeout_keep_alive=api.limits.idle,
        timeout_graceful_shutdown=api.limits.seconds + 5,
        h11_max_incomplete_event_size=HEAD,
        backlog=BACKLOG,
    )
    server, tasks = Server(config), set[asyncio.Task[object]]()
    loop = asyncio.get_running_loop()

    def begin_task(work: Coroutine[Any, Any, object]) -> None:
        task = asyncio.create_task(work)
        tasks.add(task)
        task.add_done_callback(tasks.discard)

    def stop() -> None:
        server.should_exit = True

    def reload() -> None:
        begin_task(api.models.reload(api.models.all))

    stopping = Stopping(lambda: loop.call_soon_threadsafe(stop))
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, stopping)
    if sys.platform != "win32":
        signal.signal(signal.SIGHUP, lambda *_: loop.call_soon_threadsafe(reload))
    if watch_seconds is not None:
        begin_task(api.models.watch(watch_seconds))
    await server.serve([listener])
    for task in set(tasks):
        task.cancel()


def begin(api: Api, listener: socket.socket) -> None:
    """Tell what is served, and where; from then on everybody who connects is answered."""
    listener.listen(BACKLOG)
    for one in api.models.all:
        told = one.told.split("\n")[0].rstrip(":")
        print(f"weft: {one.name}: {one.pair.source} to {one.pair.target}, by {told}", file=sys.stderr)
    for run in api.training.runs:
        print(f"weft: {run.name}: its training is at /training", file=sys.stderr)
    host, port = listener.getsockname()[:2]
    shown = f"[{host}]" if ":" in host else host
    print(f"weft: serving at http://{shown}:{port}", file=sys.stderr, flush=True)


def log_to_standard_error() -> None:
    """What the server tells while it runs. Of uvicorn's, only errors: anybody can send what it would warn of."""
    logging.basicConfig(format="weft: %(message)s", level=logging.WARNING)
    logging.getLogger("weft.serve").setLevel(logging.INFO)
    logging.getLogger("uvicorn").setLevel(logging.ERROR)


def raise_file_limit(connections: int) -> None:
    """Every connection is an open file, and the usual limit of those is lower than ours."""
    if sys.platform == "win32":
        return
    import resource

    wanted, (soft, hard) = connections + 256, resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        most = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, hard))
