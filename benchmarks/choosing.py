"""Some of several names."""

from __future__ import annotations

from collections.abc import Sequence

from weft.core.errors import UserError


def chosen(written: str, known: Sequence[str], what: str) -> list[str]:
    """The names that are written with commas between them; `what` they are the names of."""
    names = [name.strip() for name in written.split(",")]
    for name in names:
        if name not in known:
            raise UserError(f"{name!r} is no {what}: write some of {', '.join(known)}, with commas between them")
    return names
