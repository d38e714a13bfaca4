"""A toy corpus, models trained on it, and a cache that goes away again."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from system import toys


@pytest.fixture(scope="session", autouse=True)
def cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Tokens are kept apart from those of the person who runs the tests."""
    before = os.environ.get("WEFT_CACHE")
    os.environ["WEFT_CACHE"] = str(tmp_path_factory.mktemp("cache"))
    yield
    if before is None:
        del os.environ["WEFT_CACHE"]
    else:
        os.environ["WEFT_CACHE"] = before


@pytest.fixture(scope="session")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return toys.write_corpus(tmp_path_factory.mktemp("corpus"))
