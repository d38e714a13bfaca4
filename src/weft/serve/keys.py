"""Who may ask: keys from a file, one a line."""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Iterable
from pathlib import Path

from weft.core.errors import UserError
from weft.data.lines import read_lines
from weft.serve.refusal import RefusedError

SHORTEST = 16  # characters: shorter ones could be guessed


class Keys:
    """Only hashes are kept, and compared in a time that tells nothing. Without keys, everybody may ask."""

    def __init__(self, keys: Iterable[str] = ()):
        self._hashes = [_hash(key) for key in keys]

    def __bool__(self) -> bool:
        return bool(self._hashes)

    def check(self, given: str | None) -> None:
        """RefusedError if there are keys and this is none of them."""
        if self._hashes and not self.knows(given or ""):
            raise RefusedError(
                403, "A valid API key is needed: as api_key, or in the header Authorization: Bearer KEY."
            )

    def knows(self, key: str) -> bool:
        asked = _hash(key)
        found = [hmac.compare_digest(asked, known) for known in self._hashes]  # with all of them, whichever it is
        return any(found)


def read_keys(path: Path) -> Keys:
    """Blank lines, and those that begin with #, are left out."""
    keys = []
    for number, line in enumerate(read_lines(path), 1):
        key = line.strip()
        if key and not key.startswith("#"):
            if len(key) < SHORTEST:
                raise UserError(
                    f"{path}, line {number}: the key has {len(key)} characters, and {SHORTEST} are the fewest: "
                    'make one with python -c "import secrets; print(secrets.token_urlsafe())"'
                )
            keys.append(key)
    if not keys:
        raise UserError(f"{path}: has no key; write one a line, or leave --keys out")
    return Keys(keys)


def _hash(key: str) -> bytes:
    return hashlib.sha256(key.encode("utf-8", "surrogatepass")).digest()
