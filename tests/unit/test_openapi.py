"""The OpenAPI document of a server."""

from typing import cast

from weft.data.languages import LanguagePair
from weft.serve.app import create_app
from weft.serve.auth import ApiKeys
from weft.serve.dependencies import ServerContext
from weft.serve.limits import ServerLimits
from weft.serve.model_pool import ModelPool, ServedModel


class Named:
    """All that the document needs of a model."""

    def __init__(self, name: str, target: str) -> None:
        self.name, self.pair = name, LanguagePair("en", target)


def document(*names: str, limits: ServerLimits) -> dict[str, object]:
    models = ModelPool([cast(ServedModel, Named(name, name)) for name in names])
    return create_app(ServerContext(models, limits, ApiKeys()), None, lambda: None).openapi()


def test_it_is_made_once() -> None:
    models = ModelPool([cast(ServedModel, Named("first", "de"))])
    app = create_app(ServerContext(models, ServerLimits(), ApiKeys()), None, lambda: None)
    assert app.openapi() is app.openapi()


def test_each_server_states_its_own_limits() -> None:
    first = str(document("de", limits=ServerLimits(characters=1234, beam=7)))
    second = str(document("fr", "it", limits=ServerLimits()))
    assert "'maxLength': 1234" in first
    assert "'maximum': 7" in first
    assert "'enum': ['de']" in first
    assert "1234" not in second
    assert "'enum': ['fr', 'it']" in second
