"""A model with tag tokens: exact resume, tags in its output, exports and fine-tuning."""

from pathlib import Path
from typing import Any

import pytest

from system import toys
from system.commands import weft
from system.training_runs import interrupt_after, resume_run, run_contents, train
from weft.checkpoints.trained_model import load_model
from weft.data import tag_noise
from weft.inference.export.standalone.ctranslate2_model import CTranslate2Model
from weft.text.marked_text import CLOSE_TAGS, OPEN_TAGS, SINGLE_TAGS, TAGS
from weft.text.word_aligner import WordAligner


def tag_recipe(corpus: Path, steps: int = 24) -> dict[str, Any]:
    node = toys.recipe(corpus, steps=steps)
    node["text"]["tag_tokens"] = True
    node["text"]["source"]["vocab_size"] = 150
    return node


@pytest.mark.parametrize("target_order", ["forward", pytest.param("backward", marks=pytest.mark.slow)])
def test_interrupted_run_with_tags_ends_like_an_uninterrupted_run(
    target_order: str, corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    node = tag_recipe(corpus)
    node["text"]["target_order"] = target_order
    assert train(node, tmp_path / "uninterrupted") == "done"
    monkeypatch.setattr(WordAligner, "train", None)  # the cached alignment is used
    interrupt_after(monkeypatch, 5)
    assert train(node, tmp_path / "interrupted") == "interrupted"
    end, messages = resume_run(tmp_path / "interrupted")
    assert end == "done"
    assert "resuming after step 5 of 24" in messages
    assert run_contents(tmp_path / "interrupted") == run_contents(tmp_path / "uninterrupted")


def test_share_of_tags_changes_the_run(corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The comparison above can fail."""
    node = tag_recipe(corpus, steps=3)
    train(node, tmp_path / "first")
    monkeypatch.setattr(tag_noise.TagNoise, "_insert", lambda _, source, target, __: (source, target))
    train(node, tmp_path / "second")
    first, second = (run_contents(tmp_path / name) for name in ("first", "second"))
    assert first["best/weights.safetensors"] != second["best/weights.safetensors"]


def test_model_with_tags_is_fine_tuned_and_exported(corpus: Path, tmp_path: Path) -> None:
    node = tag_recipe(corpus, steps=3)
    train(node, tmp_path / "run")
    new = tmp_path / "new.tsv"
    new.write_text("a žaba sees {x}\tun žaba videt {x}\n" * 5, "utf-8")
    tuned = weft("finetune", tmp_path / "run", new, "train.steps=2", "--out", tmp_path / "tuned")
    assert tuned.code == 0, tuned.err
    model = load_model(tmp_path / "tuned")
    before = load_model(tmp_path / "run").target_tokenizer.tag_ids
    assert len(before) == len(TAGS)
    assert model.target_tokenizer.tag_ids == before
    assert "ž" in model.target_tokenizer.vocabulary()
    for arguments in (["shortlist", "best"], ["export", "best", "--format", "ctranslate2", "--out", "exported"]):
        command, *rest = arguments
        paths = [tmp_path / "tuned" / name if name in ("best", "exported") else name for name in rest]
        result = weft(command, *paths)
        assert result.code == 0, result.err
    exported = CTranslate2Model(tmp_path / "tuned" / "exported")
    line = f"a {OPEN_TAGS[0]}cat{CLOSE_TAGS[0]} sees {SINGLE_TAGS[3]}"
    ids = model.source_tokenizer.encode_rows([line]).values.tolist()
    assert [exported.source_tokens.index(token) for token in exported.encode(line)] == ids
    assert exported.decode(exported.encode(line)) == line
