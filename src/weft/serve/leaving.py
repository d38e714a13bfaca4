"""Whoever asked may go away before the answer is there: then nothing more is done for it."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable
from typing import TypeVar

from starlette.requests import Request

from weft.serve.refusal import RefusedError

Found = TypeVar("Found")
LEFT = 499  # nobody hears of it, but it is counted; the number is nginx's


async def while_there(request: Request, work: Awaitable[Found]) -> Found:
    """What comes of the work, which is given up when the connection is closed. The body must have been read."""
    working, leaving = asyncio.ensure_future(work), asyncio.ensure_future(_left(request))
    try:
        await asyncio.wait((working, leaving), return_when=asyncio.FIRST_COMPLETED)
        if not working.done():
            raise RefusedError(LEFT, "Whoever asked has left")
        return working.result()
    finally:
        working.cancel()
        leaving.cancel()


async def _left(request: Request) -> None:
    while (await request.receive())["type"] != "http.disconnect":
        pass
