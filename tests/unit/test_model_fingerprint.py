"""The model fingerprint changes only if the outputs could change."""

from pathlib import Path

import pytest

from unit.models import TRANSFORMER, save_model_folder, untrained_model
from weft.checkpoints.model_folder import (
    CONFIG_FILE,
    EXTRA_FILES,
    WEIGHTS_FILE,
    folder_fingerprint,
    model_fingerprint,
    replace_model_folder,
)


@pytest.fixture
def model(tmp_path: Path) -> Path:
    return save_model_folder(tmp_path / "model", untrained_model(TRANSFORMER))


@pytest.mark.parametrize("name", sorted(EXTRA_FILES))
def test_extra_files_do_not_change_the_model_fingerprint(model: Path, name: str) -> None:
    before, folder_before = model_fingerprint(model), folder_fingerprint(model)
    with replace_model_folder(model) as new:
        (new / name).write_text("{ }")
    assert model_fingerprint(model) == before
    assert folder_fingerprint(model) != folder_before


@pytest.mark.parametrize("name", [WEIGHTS_FILE, CONFIG_FILE, "source.tokenizer.json"])
def test_model_files_change_the_model_fingerprint(model: Path, name: str) -> None:
    before = model_fingerprint(model)
    with replace_model_folder(model) as new:
        (new / name).write_bytes((new / name).read_bytes() + b" ")
    assert model_fingerprint(model) != before
