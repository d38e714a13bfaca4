"""Which model it is: another one only if it could say something else."""

from pathlib import Path

import pytest

from unit.models import TRANSFORMER, saved, untrained
from weft.checkpoints.model_extras import replace_model_folder
from weft.checkpoints.model_folder import CONFIG_FILE, EXTRA_FILES, WEIGHTS_FILE, folder_fingerprint, model_fingerprint


@pytest.fixture
def model(tmp_path: Path) -> Path:
    return saved(tmp_path / "model", untrained(TRANSFORMER))


@pytest.mark.parametrize("name", sorted(EXTRA_FILES))
def test_what_is_added_to_a_model_makes_no_other_of_it(model: Path, name: str) -> None:
    before, whole = model_fingerprint(model), folder_fingerprint(model)
    with replace_model_folder(model) as new:
        (new / name).write_text("{ }")
    assert model_fingerprint(model) == before
    assert folder_fingerprint(model) != whole


@pytest.mark.parametrize("name", [WEIGHTS_FILE, CONFIG_FILE, "source.tokenizer.json"])
def test_what_it_is_made_of_does(model: Path, name: str) -> None:
    before = model_fingerprint(model)
    with replace_model_folder(model) as new:
        (new / name).write_bytes((new / name).read_bytes() + b" ")
    assert model_fingerprint(model) != before
