"""Damaged, oversized and foreign files are rejected with a message, before memory is allocated."""

import errno
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors import SafetensorError
from safetensors.torch import save_file

from system import toys
from weft.checkpoints import checkpoint
from weft.checkpoints.checkpoint import Checkpoint, save_checkpoint
from weft.checkpoints.file_formats import explain_load_errors, explain_save_errors, read_json_object
from weft.checkpoints.manifest import (
    FORMAT_VERSION,
    MANIFEST_FILE,
    MIGRATIONS,
    FormatMigration,
    migrate_document,
    write_manifest,
)
from weft.checkpoints.model_folder import read_model_folder
from weft.checkpoints.trained_model import TrainedModel, load_model, model_weights, save_model
from weft.config.recipe import load_recipe
from weft.core.errors import UserError
from weft.core.files import read_bounded
from weft.models.build import build_model
from weft.text.tokenizer import Tokenizer
from weft.text.tokenizer_training import (
    BPETokenizerTrainer,
    CharacterTokenizerTrainer,
    UnigramTokenizerTrainer,
    WordTokenizerTrainer,
)

LINES = ["the red cat", "a small dog"] * 2


@pytest.fixture
def model(tmp_path: Path) -> Path:
    """Return a model folder."""
    tokenizer, recipe = CharacterTokenizerTrainer().train(LINES), load_recipe(toys.recipe(tmp_path))
    built = build_model(recipe.model, tokenizer.vocabulary(), tokenizer.vocabulary(), joint=True)
    save_model(tmp_path / "model", TrainedModel(built, tokenizer, tokenizer, recipe, {}), model_weights(built))
    return tmp_path / "model"


def write_with_valid_hash(folder: Path, name: str, content: bytes) -> None:
    """Write a file into a model folder and update its hash in the manifest."""
    (folder / name).write_bytes(content)
    (folder / MANIFEST_FILE).unlink()
    write_manifest(folder, {"kind": "model"})


def change_config(folder: Path, change: Callable[[dict[str, Any]], object]) -> None:
    config = json.loads((folder / "config.json").read_text("utf-8"))
    change(config)
    write_with_valid_hash(folder, "config.json", json.dumps(config).encode())


def load_error(load: Callable[[Path], object], folder: Path) -> str:
    with pytest.raises(UserError) as caught:
        load(folder)
    return str(caught.value)


@pytest.mark.parametrize(
    "change",
    [
        lambda config: config["model"]["source"].update(dim=10**12),
        lambda config: config["model"]["source"].update(dim=10**30),
        lambda config: config["model"]["encoder"].update(ffn_dim=10**12),
        lambda config: config["model"]["encoder"].update(layers=10**12),
        lambda config: config["model"]["decoder"].update(layers=0),
    ],
)
def test_oversized_model_config_is_rejected_before_allocation(
    change: Callable[[dict[str, Any]], object], model: Path
) -> None:
    change_config(model, change)
    assert "weights.safetensors" in load_error(load_model, model) or "config" in load_error(load_model, model)


@pytest.mark.parametrize("name", ["config.json", "metrics.json"])
@pytest.mark.parametrize("content", [b"", b"[]", b"\xff", b"[" * 100_000, b'{"a": 1'])
def test_invalid_json_file_is_reported(content: bytes, name: str, model: Path) -> None:
    write_with_valid_hash(model, name, content)
    assert load_error(load_model, model).startswith(f"{model / name}: is damaged: it ")
    if name == "config.json":
        assert load_error(read_model_folder, model).startswith(f"{model / name}: is damaged: it ")


@pytest.mark.parametrize("content", [b"", b"\xff" * 8, b"\x02\0\0\0\0\0\0\0{}", b"\0\0\0\0\0\0\0\x7f"])
def test_invalid_weights_file_is_reported(content: bytes, model: Path) -> None:
    write_with_valid_hash(model, "weights.safetensors", content)
    assert str(model / "weights.safetensors") in load_error(load_model, model)


def test_weights_of_wrong_dtype_are_reported(model: Path, tmp_path: Path) -> None:
    weights = {name: weight.double() for name, weight in model_weights(load_model(model).model).items()}
    save_file(weights, tmp_path / "double")
    write_with_valid_hash(model, "weights.safetensors", (tmp_path / "double").read_bytes())
    assert "does not fit the model" in load_error(load_model, model)


def test_oversized_file_is_not_read(tmp_path: Path) -> None:
    with (tmp_path / "huge").open("wb") as file:
        file.truncate(2**40)  # a sparse file
    (tmp_path / "small").write_bytes(b"four")
    for read in (read_bounded, read_json_object, Tokenizer.load):
        assert "huge: is too large" in load_error(read, tmp_path / "huge")
    assert read_bounded(tmp_path / "small", 4) == b"four"
    assert "more than 3 bytes" in load_error(lambda path: read_bounded(path, 3), tmp_path / "small")


def test_full_disk_is_reported_while_saving(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail_to_save(*_: object) -> None:
        raise SafetensorError("Error while serializing: I/O error: No space left on device (os error 28)")

    monkeypatch.setattr(checkpoint, "save_file", fail_to_save)
    new = Checkpoint({"weights": {"w": torch.zeros(1)}}, {})
    assert "step-00000001: the disk is full" in load_error(lambda folder: save_checkpoint(folder, 1, new), tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_other_library_errors_are_passed_on(tmp_path: Path) -> None:
    with pytest.raises(SafetensorError), explain_save_errors(tmp_path):
        raise SafetensorError("a tensor twice")
    with pytest.raises(OSError, match=os.strerror(errno.EIO)), explain_save_errors(tmp_path):
        raise SafetensorError("(os error 5)")
    with pytest.raises(UserError, match="cannot be read"), explain_load_errors(tmp_path):
        raise PermissionError(errno.EACCES, "Permission denied")


def test_older_formats_are_migrated(tmp_path: Path) -> None:
    first: FormatMigration = {
        "manifest": lambda node: {**node, "extra": {}},
        "config": lambda node: {"model": node["network"]},
    }
    second: FormatMigration = {
        "manifest": lambda node: {**node, "files": {}},
        "config": lambda node: {**node, "train": {}},
    }
    table = {-1: first, 0: second}
    assert migrate_document({"network": 1}, "config", -1, table) == {"model": 1, "train": {}}
    assert migrate_document({"model": 1}, "config", 0, table) == {"model": 1, "train": {}}
    assert migrate_document({"model": 1}, "config", FORMAT_VERSION, table) == {"model": 1}
    assert migrate_document({}, "manifest", -1, table) == {"extra": {}, "files": {}}


def test_every_older_format_has_a_migration() -> None:
    assert sorted(MIGRATIONS) == list(range(1, FORMAT_VERSION))


@pytest.mark.parametrize(
    "trainer",
    [
        BPETokenizerTrainer(vocab_size=20, byte_fallback=False),
        UnigramTokenizerTrainer(vocab_size=30, byte_fallback=False),
        WordTokenizerTrainer(),
    ],
)
@pytest.mark.parametrize(
    ("part", "change"),
    [
        ("padding", lambda node: node.update(padding={"strategy": {"Fixed": 10**9}})),
        ("truncation", lambda node: node.update(truncation={"max_length": 1})),
        ("post_processor", lambda node: node.update(post_processor={"type": "ByteLevel"})),
        ("normalizer", lambda node: node.update(normalizer={"type": "Replace", "pattern": {"Regex": "(a+)+$"}})),
        ("normalizer", lambda node: node["normalizer"]["normalizers"].append({"type": "Replace"})),
        ("pre_tokenizer", lambda node: node["pre_tokenizer"].update(pattern={"Regex": "(a+)+$"})),
        ("decoder", lambda node: node["decoder"]["decoders"].append({"type": "Replace"})),
        ("model.dropout", lambda node: node["model"].update(dropout=0.5)),
        ("model.vocab", lambda node: node["model"].update(vocab=[])),
        ("model", lambda node: node["model"].pop("type")),
    ],
)
def test_foreign_tokenizer_file_is_rejected(
    trainer: Any, part: str, change: Callable[[dict[str, Any]], object], tmp_path: Path
) -> None:
    node = json.loads(trainer.train(LINES).to_json())
    change(node)
    (tmp_path / "file").write_text(json.dumps(node), "utf-8")
    assert f"not a tokenizer file of Weft (unsupported {part}" in load_error(Tokenizer.load, tmp_path / "file")


@pytest.mark.parametrize("unknown", ["<none>", None, 3])
def test_unknown_token_must_be_in_the_vocabulary(unknown: object, tmp_path: Path) -> None:
    node = json.loads(WordTokenizerTrainer().train(LINES).to_json())
    node["model"]["unk_token"] = unknown
    (tmp_path / "file").write_text(json.dumps(node), "utf-8")
    assert "unsupported model.unk_token" in load_error(Tokenizer.load, tmp_path / "file")


@pytest.mark.parametrize("number", [-1, 0, 10**6, 1.5, "1", True])
def test_vocabulary_ids_must_be_contiguous(number: object, tmp_path: Path) -> None:
    node = json.loads(BPETokenizerTrainer(vocab_size=20, byte_fallback=False).train(LINES).to_json())
    node["model"]["vocab"][max(node["model"]["vocab"], key=node["model"]["vocab"].__getitem__)] = number
    (tmp_path / "file").write_text(json.dumps(node), "utf-8")
    assert "unsupported model.vocab" in load_error(Tokenizer.load, tmp_path / "file")
