"""Limits of the server, per request and in total. Everything is bounded."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass
from difflib import get_close_matches

from weft.core.errors import UserError


@dataclass(frozen=True)
class ServerLimits:
    """Limits that `--limit NAME=N` changes. `timeout` and `idle_timeout` are in seconds.

    `characters`, `texts` and `phrases` (of one list) count per request; `inspected_characters` counts in a line that is
    inspected, `file_characters` in a document. `timeout` bounds three things in turn: reading a request, processing it,
    and sending the response. `files` and `files_bytes` count translated documents, which are kept for `file_seconds`.
    `queue` (lines that wait for a model), `connections` and `inspections` (waiting or running) count in total.
    """

    body_bytes: int = 1_000_000
    response_bytes: int = 4_000_000
    characters: int = 20_000
    texts: int = 200
    phrases: int = 20
    inspected_characters: int = 500
    beam: int = 16
    alternatives: int = 10
    top_tokens: int = 20
    file_characters: int = 200_000
    files: int = 100
    files_bytes: int = 50_000_000
    file_seconds: int = 600
    timeout: int = 60
    queue: int = 2_000
    batch_size: int = 32
    inspections: int = 20
    connections: int = 2_000
    idle_timeout: int = 20


def parse_limits(settings: Iterable[str]) -> ServerLimits:
    """Return the default limits with these changes, each written as "queue=500"."""
    limits = asdict(ServerLimits())
    for setting in settings:
        name, _, value = setting.partition("=")
        if name not in limits:
            nearest = get_close_matches(name, limits, n=1)
            hint = f" Did you mean {nearest[0]}?" if nearest else ""
            raise UserError(f'--limit {setting}: there is no limit "{name}". The limits are {", ".join(limits)}.{hint}')
        if not value.isascii() or not value.isdecimal() or not 0 < int(value) < 10**9:
            example = f"{name}={getattr(ServerLimits, name)}"
            raise UserError(f"--limit {setting}: must be a whole number above 0, for example {example}")
        limits[name] = int(value)
    return ServerLimits(**limits)
