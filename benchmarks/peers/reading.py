"""Numbers out of what a toolkit prints."""

from __future__ import annotations

import re

from weft.core.errors import UserError


def last(pattern: str, printed: str) -> tuple[str, ...]:
    """The groups of the last place where the pattern fits."""
    found = list(re.finditer(pattern, printed))
    if not found:
        raise UserError(f"nothing that was printed fits {pattern!r}: is this another version of the toolkit?")
    return found[-1].groups()
