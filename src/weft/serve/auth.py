"""Access control: API keys from a file, and the host names under which the server may be addressed.

Host names are checked against DNS rebinding: a page of another site can make its own host name resolve to this machine
and then read the responses, but it cannot make the browser send another name than its own.
"""

from __future__ import annotations

import hashlib
import hmac
import re
from collections.abc import Collection, Iterable
from ipaddress import ip_address
from pathlib import Path

from starlette.types import ASGIApp, Receive, Scope, Send

from weft.core.errors import UserError
from weft.data.text_files import read_lines
from weft.serve.http_errors import ApiError, error_response

MIN_KEY_LENGTH = 16  # shorter keys could be guessed
LOCAL_HOSTS = ("localhost", "127.0.0.1", "[::1]")
HOST_NAME = re.compile(r"[a-z0-9_-]+(\.[a-z0-9_-]+)*|\[[0-9a-f:.]+\]")
HOST_HEADER = re.compile(r"(?P<name>\[[^\[\]]*\]|[^:]*?)\.?(?::[0-9]*)?")


class ApiKeys:
    """Hashes of the valid keys, compared in constant time. Without keys, every request is allowed."""

    def __init__(self, keys: Iterable[str] = ()):
        self._hashes = [_hash_key(key) for key in keys]

    def __bool__(self) -> bool:
        return bool(self._hashes)

    def check(self, key: str | None) -> None:
        """Raise ApiError if there are keys and this is not one of them."""
        hashed = _hash_key(key or "")
        matches = [hmac.compare_digest(hashed, valid) for valid in self._hashes]  # all of them, in constant time
        if self._hashes and not any(matches):
            raise ApiError(403, "A valid API key is required: as api_key, or in the header Authorization: Bearer KEY.")


def read_api_keys(path: Path) -> ApiKeys:
    """Read keys, one per line. Blank lines and lines that start with # are skipped."""
    keys = []
    for number, line in enumerate(read_lines(path), 1):
        key = line.strip()
        if key and not key.startswith("#"):
            if len(key) < MIN_KEY_LENGTH:
                raise UserError(
                    f"{path}, line {number}: the key has {len(key)} characters, but needs at least {MIN_KEY_LENGTH}. "
                    'Make one with python -c "import secrets; print(secrets.token_urlsafe())"'
                )
            keys.append(key)
    if not keys:
        raise UserError(f"{path}: contains no key. Write one per line, or omit --api-keys.")
    return ApiKeys(keys)


def _hash_key(key: str) -> bytes:
    return hashlib.sha256(key.encode("utf-8", "surrogatepass")).digest()


def parse_host_names(names: Iterable[str]) -> tuple[str, ...]:
    """Return the names of --allowed-host in lower case. Raise UserError if one is not a plain host name."""
    lowered = tuple(map(str.lower, names))
    for name in lowered:
        if not HOST_NAME.fullmatch(name):
            raise UserError(f"--allowed-host {name}: must be a host name alone, for example translate.example.org")
    return lowered


def allowed_hosts(host: str, address: str, names: Collection[str]) -> frozenset[str] | None:
    """Return the host names under which a server that listens at `host` may be addressed; None for any.

    `address` is the IP address of `host`. Without `names`, a server that other machines can reach allows any.
    """
    if not names and not ip_address(address).is_loopback:
        return None
    return frozenset(
        {*LOCAL_HOSTS, *names, *(f"[{name}]" if ":" in name else name.lower() for name in (host, address))}
    )


class HostCheckMiddleware:
    """Answer 421 to requests for a host name that is not in `hosts` (None: any)."""

    def __init__(self, app: ASGIApp, hosts: frozenset[str] | None):
        self._app, self._hosts = app, hosts

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        header = next((value.decode("latin-1") for name, value in scope.get("headers", ()) if name == b"host"), None)
        match = None if header is None else HOST_HEADER.fullmatch(header.lower())  # browsers always send the header
        name = match["name"] if match else header
        if self._hosts is None or name is None or name in self._hosts:
            await self._app(scope, receive, send)
            return
        message = f"This server does not answer as {name}. If it should, start it with --allowed-host {name}"
        await error_response(421, message)(scope, receive, send)
