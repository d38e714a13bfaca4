"""The OpenAPI document of a server."""

from typing import cast

from weft.data.languages import LanguagePair
from weft.serve.app import create_app
from weft.serve.auth import ApiKeys
from weft.serve.dependencies import ServerContext
from weft.serve.limits import ServerLimits
from weft.serve.model_pool import ModelPool, ServedModel


class ModelStub:
    """The attributes of a model that the document uses."""

    def __init__(self, name: str, target: str) -> None:
        self.name, self.pair = name, LanguagePair("en", target)


def document(*names: str, limits: ServerLimits) -> dict[str, object]:
    models = ModelPool([cast(ServedModel, ModelStub(name, name)) for name in names])
    return create_app(ServerContext(models, limits, ApiKeys()), None, lambda: None).openapi()


def test_document_is_cached() -> None:
    models = ModelPool([cast(ServedModel, ModelStub("first", "de"))])
    app = create_app(ServerContext(models, ServerLimits(), ApiKeys()), None, lambda: None)
    assert app.openapi() is app.openapi()


def test_document_states_the_limits_of_its_server() -> None:
    first = str(document("de", limits=ServerLimits(characters=1234, beam=7)))
    second = str(document("fr", "it", limits=ServerLimits()))
    assert "'maxLength': 1234" in first
    assert "'maximum': 7" in first
    assert "'enum': ['de']" in first
    assert "1234" not in second
    assert "'enum': ['fr', 'it']" in second
