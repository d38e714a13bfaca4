"""A toy corpus, models trained on it, and a cache that goes away again."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from system import toys
from system.commands import weft


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


@pytest.fixture(scope="session")
def runs(corpus: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """A run folder of each family, made by the command."""
    folder = tmp_path_factory.mktemp("runs")
    for family in toys.FAMILIES:
        recipe = toys.write_recipe(folder / f"{family}.yaml", toys.learning_recipe(corpus, family))
        assert weft("train", recipe, "--out", folder / family).code == 0
    return {family: folder / family for family in toys.FAMILIES}


@pytest.fixture(scope="session")
def language_model(corpus: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run folder of a language model."""
    folder = tmp_path_factory.mktemp("language")
    recipe = toys.write_recipe(folder / "recipe.yaml", toys.language_recipe(corpus))
    assert weft("train", recipe, "--out", folder / "run").code == 0
    return folder / "run"


@pytest.fixture(params=toys.FAMILIES)
def run(request: pytest.FixtureRequest, runs: dict[str, Path]) -> Path:
    return runs[request.param]
