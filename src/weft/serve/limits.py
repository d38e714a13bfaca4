"""How much one request, and all of them together, may ask of a server. Everything has a limit."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass, replace
from difflib import get_close_matches

from weft.core.errors import UserError


@dataclass(frozen=True)
class Limits:
    """Of one request: `body` bytes, `characters` in all its texts, `texts`, `beam`, `alternatives`, the `likeliest`
    pieces at a place, `phrases` in a list of a line, characters of a line that is `inspected`, bytes of the
    `answer`, `seconds` until it is read, again until it is answered, and again until the answer is taken.

    Of all together: `queue` lines that wait for a model, `batch` lines that are translated at once, `connections`, and
    the seconds that one may be `idle`; `looks` into a model that wait or are under way.
    """

    body: int = 1_000_000
    characters: int = 20_000
    texts: int = 200
    beam: int = 16
    alternatives: int = 10
    likeliest: int = 20
    phrases: int = 20
    inspected: int = 500
    answer: int = 4_000_000
    seconds: int = 60
    queue: int = 2_000
    batch: int = 32
    connections: int = 2_000
    idle: int = 20
    looks: int = 20


def read_limits(settings: Iterable[str]) -> Limits:
    """The usual limits, but for these, as "queue=500"."""
    return replace(Limits(), **dict(map(read_limit, settings)))


def read_limit(setting: str) -> tuple[str, int]:
    """The name of a limit, and its value."""
    names = list(asdict(Limits()))
    name, _, value = setting.partition("=")
    if name not in names:
        nearest = get_close_matches(name, names, n=1)
        meant = f" Is it {nearest[0]}?" if nearest else ""
        raise UserError(f'--limit {setting}: there is no limit "{name}", but {", ".join(names)}.{meant}')
    if not value.isascii() or not value.isdecimal() or not 0 < int(value) < 10**9:
        raise UserError(f"--limit {setting}: should be a whole number above 0, as {name}={asdict(Limits())[name]}")
    return name, int(value)
