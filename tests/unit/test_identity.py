"""Which model it is: another one only if it could say something else."""

from pathlib import Path

import pytest

from unit.models import TRANSFORMER, saved, untrained
from weft.store.adding import changed_folder
from weft.store.place import BESIDE, CONFIG, WEIGHTS, fingerprint, identity


@pytest.fixture
def model(tmp_path: Path) -> Path:
    return saved(tmp_path / "model", untrained(TRANSFORMER))


@pytest.mark.parametrize("name", sorted(BESIDE))
def test_what_is_added_to_a_model_makes_no_other_of_it(model: Path, name: str) -> None:
    before, whole = identity(model), fingerprint(model)
    with changed_folder(model) as new:
        (new / name).write_text("{ }")
    assert identity(model) == before
    assert fingerprint(model) != whole


@pytest.mark.parametrize("name", [WEIGHTS, CONFIG, "source.tokenizer.json"])
def test_what_it_is_made_of_does(model: Path, name: str) -> None:
    before = identity(model)
    with changed_folder(model) as new:
        (new / name).write_bytes((new / name).read_bytes() + b" ")
    assert identity(model) != before
