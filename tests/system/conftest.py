"""Session fixtures: a toy corpus, models trained on it, and damaged inputs."""

from pathlib import Path

import pytest

from system import toys
from system.bad_inputs import write_bad_inputs
from system.commands import weft


@pytest.fixture(scope="session")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return toys.write_corpus(tmp_path_factory.mktemp("corpus"))


@pytest.fixture(scope="session")
def runs(corpus: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Run folders by model family, trained with `weft train`."""
    folder = tmp_path_factory.mktemp("runs")
    for family in toys.FAMILIES:
        recipe = toys.write_recipe(folder / f"{family}.yaml", toys.learning_recipe(corpus, family))
        assert weft("train", recipe, "--out", folder / family).code == 0
    return {family: folder / family for family in toys.FAMILIES}


@pytest.fixture(scope="session")
def language_model(corpus: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The run folder of a language model."""
    folder = tmp_path_factory.mktemp("language")
    recipe = toys.write_recipe(folder / "recipe.yaml", toys.language_recipe(corpus))
    assert weft("train", recipe, "--out", folder / "run").code == 0
    return folder / "run"


@pytest.fixture(params=toys.FAMILIES)
def run(request: pytest.FixtureRequest, runs: dict[str, Path]) -> Path:
    return runs[request.param]


@pytest.fixture(scope="session")
def paths(
    runs: dict[str, Path], language_model: Path, corpus: Path, tmp_path_factory: pytest.TempPathFactory
) -> dict[str, Path]:
    """Valid and invalid inputs by name. No test may change them."""
    models = {"run": runs["transformer"], "recurrent": runs["bahdanau"], "language_model": language_model}
    return {**models, **write_bad_inputs(tmp_path_factory.mktemp("bad_inputs"), corpus, runs["transformer"] / "best")}
