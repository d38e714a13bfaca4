"""A toy corpus, models trained on it, a cache that goes away again, and what every mistake must come to."""

import os
import sys
from collections.abc import Callable, Iterator
from io import BytesIO, TextIOWrapper
from pathlib import Path

import pytest

from system import toys
from system.commands import weft
from system.mistakes import Mistake, everything_in, fill
from system.places import write_places
from weft.cli.main import main


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


@pytest.fixture(scope="session")
def places(
    runs: dict[str, Path], language_model: Path, corpus: Path, tmp_path_factory: pytest.TempPathFactory
) -> dict[str, Path]:
    """Good and bad files and folders, which no mistake may change."""
    models = {"run": runs["transformer"], "recurrent": runs["bahdanau"], "language": language_model}
    return {**models, **write_places(tmp_path_factory.mktemp("places"), corpus, runs["transformer"] / "best")}


@pytest.fixture
def check(
    places: dict[str, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> Callable[[Mistake], None]:
    """A mistake ends with exit code 2 and one message that names the thing; nothing half-made is left behind."""
    paths = {**places, "new": tmp_path / "new"}
    monkeypatch.setattr(sys, "stdin", TextIOWrapper(BytesIO(b"caf\xc3\xa9\ncaf\xe9\n")))
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(places["bad"]))

    def make(wrong: Mistake) -> None:
        monkeypatch.setattr(sys, "argv", ["weft", *(fill(argument, paths) for argument in wrong.arguments)])
        before = everything_in(places["places"]), everything_in(places["run"])
        with pytest.raises(SystemExit) as caught:
            main()
        out, err = capsys.readouterr()
        assert caught.value.code == 2, err
        assert "Traceback" not in err
        assert sum(line.startswith(("weft: ", "Error: ")) for line in err.split("\n")) == 1, err
        message = err[err.index("weft: " if "weft: " in err else "Error: ") :]
        assert [word for word in wrong.words if fill(word, paths) not in message] == [], message
        assert out == ""
        assert (everything_in(places["places"]), everything_in(places["run"])) == before
        assert everything_in(tmp_path) == set()

    return make
