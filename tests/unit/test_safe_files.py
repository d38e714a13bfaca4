"""Sizes are looked at before memory is taken, and what is wrong with a file is told."""

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
from weft.checkpoints.data_files import explain_load_errors, explain_save_errors, read_json_object
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
    """A model folder."""
    tokenizer, recipe = CharacterTokenizerTrainer().train(LINES), load_recipe(toys.recipe(tmp_path))
    made = build_model(recipe.model, tokenizer.vocabulary(), tokenizer.vocabulary(), joint=True)
    save_model(tmp_path / "model", TrainedModel(made, tokenizer, tokenizer, recipe, {}), model_weights(made))
    return tmp_path / "model"


def craft(folder: Path, name: str, content: bytes) -> None:
    """Put a file into a folder as if it belonged there: its hash is right."""
    (folder / name).write_bytes(content)
    (folder / MANIFEST_FILE).unlink()
    write_manifest(folder, {"kind": "model"})


def change_config(folder: Path, change: Callable[[dict[str, Any]], object]) -> None:
    config = json.loads((folder / "config.json").read_text("utf-8"))
    change(config)
    craft(folder, "config.json", json.dumps(config).encode())


def told(load: Callable[[Path], object], folder: Path) -> str:
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
def test_more_weights_than_there_are_take_no_memory(change: Callable[[dict[str, Any]], object], model: Path) -> None:
    change_config(model, change)
    assert "weights.safetensors" in told(load_model, model) or "config" in told(load_model, model)


@pytest.mark.parametrize("name", ["config.json", "metrics.json"])
@pytest.mark.parametrize("content", [b"", b"[]", b"\xff", b"[" * 100_000, b'{"a": 1'])
def test_what_is_no_object_is_told(content: bytes, name: str, model: Path) -> None:
    craft(model, name, content)
    assert told(load_model, model).startswith(f"{model / name}: is damaged: it ")
    if name == "config.json":
        assert told(read_model_folder, model).startswith(f"{model / name}: is damaged: it ")


@pytest.mark.parametrize("content", [b"", b"\xff" * 8, b"\x02\0\0\0\0\0\0\0{}", b"\0\0\0\0\0\0\0\x7f"])
def test_weights_that_are_none_are_told(content: bytes, model: Path) -> None:
    craft(model, "weights.safetensors", content)
    assert str(model / "weights.safetensors") in told(load_model, model)


def test_weights_of_another_kind_are_told(model: Path, tmp_path: Path) -> None:
    weights = {name: weight.double() for name, weight in model_weights(load_model(model).model).items()}
    save_file(weights, tmp_path / "double")
    craft(model, "weights.safetensors", (tmp_path / "double").read_bytes())
    assert "does not fit the model" in told(load_model, model)


def test_a_file_that_is_too_large_is_not_read(tmp_path: Path) -> None:
    with (tmp_path / "huge").open("wb") as file:
        file.truncate(2**40)  # it takes no room
    (tmp_path / "small").write_bytes(b"four")
    for read in (read_bounded, read_json_object, Tokenizer.load):
        assert "huge: is too large" in told(read, tmp_path / "huge")
    assert read_bounded(tmp_path / "small", 4) == b"four"
    assert "more than 3 bytes" in told(lambda path: read_bounded(path, 3), tmp_path / "small")


def test_a_full_disk_is_told_while_tensors_are_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise SafetensorError("Error while serializing: I/O error: No space left on device (os error 28)")

    monkeypatch.setattr(checkpoint, "save_file", refuse)
    new = Checkpoint({"weights": {"w": torch.zeros(1)}}, {})
    assert "step-00000001: the disk is full" in told(lambda folder: save_checkpoint(folder, 1, new), tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_what_else_the_library_says_stays_what_it_was(tmp_path: Path) -> None:
    with pytest.raises(SafetensorError), explain_save_errors(tmp_path):
        raise SafetensorError("a tensor twice")
    with pytest.raises(OSError, match=os.strerror(errno.EIO)), explain_save_errors(tmp_path):
        raise SafetensorError("(os error 5)")
    with pytest.raises(UserError, match="cannot be read"), explain_load_errors(tmp_path):
        raise PermissionError(errno.EACCES, "Permission denied")


def test_an_older_format_becomes_the_newest(tmp_path: Path) -> None:
    renamed = FormatMigration(
        manifest=lambda node: {**node, "extra": {}},
        config=lambda node: {"model": node["network"]},
    )
    again = FormatMigration(manifest=lambda node: {**node, "files": {}}, config=lambda node: {**node, "train": {}})
    table = {-1: renamed, 0: again}
    assert migrate_document({"network": 1}, "config", -1, table) == {"model": 1, "train": {}}
    assert migrate_document({"model": 1}, "config", 0, table) == {"model": 1, "train": {}}
    assert migrate_document({"model": 1}, "config", FORMAT_VERSION, table) == {"model": 1}
    assert migrate_document({}, "manifest", -1, table) == {"extra": {}, "files": {}}


def test_every_older_format_has_a_way_to_the_next() -> None:
    assert sorted(MIGRATIONS) == list(range(1, FORMAT_VERSION))


@pytest.mark.parametrize(
    "learner",
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
def test_a_tokenizer_from_elsewhere_is_refused(
    learner: Any, part: str, change: Callable[[dict[str, Any]], object], tmp_path: Path
) -> None:
    node = json.loads(learner.train(LINES).to_json())
    change(node)
    (tmp_path / "file").write_text(json.dumps(node), "utf-8")
    assert f"not a tokenizer file of Weft (unsupported {part}" in told(Tokenizer.load, tmp_path / "file")


@pytest.mark.parametrize("unknown", ["<none>", None, 3])
def test_what_was_never_seen_has_a_piece(unknown: object, tmp_path: Path) -> None:
    node = json.loads(WordTokenizerTrainer().train(LINES).to_json())
    node["model"]["unk_token"] = unknown
    (tmp_path / "file").write_text(json.dumps(node), "utf-8")
    assert "unsupported model.unk_token" in told(Tokenizer.load, tmp_path / "file")


@pytest.mark.parametrize("number", [-1, 0, 10**6, 1.5, "1", True])
def test_ids_have_no_gaps(number: object, tmp_path: Path) -> None:
    node = json.loads(BPETokenizerTrainer(vocab_size=20, byte_fallback=False).train(LINES).to_json())
    node["model"]["vocab"][max(node["model"]["vocab"], key=node["model"]["vocab"].__getitem__)] = number
    (tmp_path / "file").write_text(json.dumps(node), "utf-8")
    assert "unsupported model.vocab" in told(Tokenizer.load, tmp_path / "file")
