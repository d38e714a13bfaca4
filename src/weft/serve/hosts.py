"""Under which names a server is asked for. A page of another site could have a name of its own lead to this machine,
and then read what is answered there; but it cannot have the browser ask for another name than its own.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from ipaddress import ip_address

from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from weft.core.errors import UserError

LOCAL = ("localhost", "127.0.0.1", "[::1]")
NAME = re.compile(r"[a-z0-9_-]+(\.[a-z0-9_-]+)*|\[[0-9a-f:.]+\]")
HOST = re.compile(r"(?P<name>\[[^\[\]]*\]|[^:]*?)\.?(?::[0-9]*)?")


def read_names(names: Iterable[str]) -> tuple[str, ...]:
    """Names as a person gives them."""
    found = tuple(map(str.lower, names))
    for name in found:
        if not NAME.fullmatch(name):
            raise UserError(f"--host-name {name}: should be a name alone, as translate.example.org")
    return found


def hosts_of(host: str, address: str, names: Collection[str]) -> frozenset[str] | None:
    """All names of a server that listens at this host, which is at this address; None: any.

    names: those that are asked for. Where there are none, a server that others can reach has any.
    """
    if not names and not ip_address(address).is_loopback:
        return None
    return frozenset({*LOCAL, *names, *(f"[{one}]" if ":" in one else one.lower() for one in (host, address))})


class OnlyAs:
    """hosts: the names under which the application answers; None: any."""

    def __init__(self, app: ASGIApp, hosts: frozenset[str] | None):
        self._app, self._hosts = app, hosts

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        asked = next((value.decode("latin-1") for name, value in scope.get("headers", ()) if name == b"host"), None)
        found = None if asked is None else HOST.fullmatch(asked.lower())  # only what is no browser leaves it out
        name = found["name"] if found else asked
        if self._hosts is None or name is None or name in self._hosts:
            await self._app(scope, receive, send)
            return
        told = f"This server does not answer as {name}: start it with --host-name {name}, if it should"
        await JSONResponse({"error": told}, 421)(scope, receive, send)
