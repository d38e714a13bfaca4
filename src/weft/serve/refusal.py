"""A request that is not answered with a translation, and why."""

from __future__ import annotations


class RefusedError(Exception):
    """status: of HTTP. The message is for whoever asked; nothing of the server's inside is in it."""

    def __init__(self, status: int, message: str):
        super().__init__(message)
        self.status = status


def contradiction(what: str) -> RefusedError:
    """Each part of the request is as it should be, but together they cannot be, or not with this model."""
    return RefusedError(409, f"Cannot be done: {what}")


def too_much(what: str, found: int, limit: int) -> RefusedError:
    """More than the server takes at once."""
    return RefusedError(400, f"Invalid request: {what}: {found}, and the limit is {limit}")
