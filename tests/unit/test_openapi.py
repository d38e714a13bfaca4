"""The description of a server."""

import asyncio
from typing import Any, cast

import pytest
from starlette.requests import Request

from weft.serve import app
from weft.serve.app import Api
from weft.serve.keys import Keys
from weft.serve.languages import Pair
from weft.serve.limits import Limits
from weft.serve.openapi import describe
from weft.serve.served import Models, Served


class Named:
    """All that the description tells of a model."""

    name, pair = "first", Pair("en", "de")


def test_it_is_made_once(monkeypatch: pytest.MonkeyPatch) -> None:
    made = list[str]()

    def counted(*arguments: Any) -> Any:
        made.append("once more")
        return describe(*arguments)

    monkeypatch.setattr(app, "describe", counted)
    api, asked = Api(Models([cast(Served, Named())]), Limits(), Keys()), Request({"type": "http"})
    answers = [asyncio.run(api.description(asked)).body for _ in range(2)]
    assert answers[0] == answers[1]
    assert len(made) == 1
