"""Backward target order: targets are generated right to left, and text stays the same."""

from pathlib import Path
from random import Random
from typing import Any

import pytest

import weft
from system import toys
from unit.models import LANGUAGE, TRANSFORMER, letter_tokenizer, save_model_folder, untrained_model
from unit.test_tokenizers import KINDS, LINES, ODD_LINES, names
from weft.checkpoints.trained_model import load_model
from weft.config.recipe import load_recipe
from weft.core.errors import ConfigError, UserError
from weft.core.special_tokens import EOS
from weft.decoding.beam import BeamSearch
from weft.decoding.constraints.request import Request
from weft.inference.translator import Translator
from weft.text.bpe_dropout import BPEDropout
from weft.text.text_config import TextConfig, train_tokenizers
from weft.text.tokenizer_training import BPETokenizerTrainer, CharacterTokenizerTrainer, TokenizerTrainer
from weft.text.word_alignment import word_spans
from weft.training.recipe_checks import check_recipe


@pytest.mark.parametrize("trainer", KINDS, ids=names)
def test_backward_tokenizer_reverses_tokens_and_keeps_text(trainer: TokenizerTrainer) -> None:
    forward = trainer.train(LINES)
    backward = forward.reversed()
    for lines in (LINES, ODD_LINES):
        rows = backward.encode(lines)
        assert rows == [row[::-1] for row in forward.encode(lines)]
        assert [row.tolist() for row in backward.encode_rows(lines).split()] == rows
        assert backward.decode(rows) == forward.decode(forward.encode(lines))
    assert backward.vocabulary() == forward.vocabulary()
    assert backward.fingerprint != forward.fingerprint


def test_joint_tokenizer_can_be_reversed_for_the_target_only() -> None:
    pairs = [("ab cd", "dc ba")]
    source, target = train_tokenizers(
        TextConfig(source=CharacterTokenizerTrainer, target_order="backward"), pairs, seed=1
    )
    assert source.vocabulary() == target.vocabulary()
    [row] = source.encode_rows(["ab cd"]).split()
    assert target.encode(["ab cd"]) == [row[::-1].tolist()]
    first, second = train_tokenizers(TextConfig(source=CharacterTokenizerTrainer), pairs, seed=1)
    assert first is second


def test_bpe_dropout_works_in_both_orders() -> None:
    tokenizer = BPETokenizerTrainer(vocab_size=150, byte_fallback=False).train(LINES)
    for line in LINES[:5]:
        [forward], [backward] = tokenizer.encode([line]), tokenizer.reversed().encode([line])
        dropped = BPEDropout(tokenizer, 0.4)(forward, Random(3))
        assert BPEDropout(tokenizer.reversed(), 0.4)(backward, Random(3)) == dropped[::-1]
        assert dropped != forward


def test_word_spans_of_backward_tokens_read_forward() -> None:
    tokenizer = (
        BPETokenizerTrainer(vocab_size=22, byte_fallback=False, min_frequency=1)
        .train(["the red cats see a dog"])
        .reversed()
    )
    [row] = tokenizer.encode(["the red cats see"])
    assert len(row) > 4
    assert [span.name for span in word_spans([*row, EOS], tokenizer)] == ["see", "cats", "red", "the", "<end>"]


def test_model_folder_stores_the_order(tmp_path: Path) -> None:
    folder = save_model_folder(tmp_path / "model", untrained_model(TRANSFORMER, target=letter_tokenizer().reversed()))
    assert (folder / "target.backward.json").exists()
    loaded = load_model(folder)
    assert (loaded.source_tokenizer.to_json(), loaded.target_tokenizer.order) == (
        letter_tokenizer().to_json(),
        "backward",
    )
    assert (
        load_model(save_model_folder(tmp_path / "other", untrained_model(TRANSFORMER))).target_tokenizer.order
        == "forward"
    )


def test_backward_model_trains_and_translates(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WEFT_CACHE", str(tmp_path / "cache"))
    node: dict[str, Any] = toys.recipe(toys.write_corpus(tmp_path), steps=2)
    node["text"]["target_order"] = "backward"
    node["train"] |= {"validation": {"every": 2, "lines": 2, "search": "greedy"}, "gradient_accumulation": 1}
    run = weft.train(node, out=tmp_path / "run")
    translator = weft.load(run)
    assert translator.trained.target_tokenizer.order == "backward"
    [translation] = translator.translate(["the red cat sees a dog"])
    best = translation.alternatives[0]
    ids = [translator.trained.target_tokenizer.vocabulary().index(piece) for piece in best.tokens[:-1]]
    assert translator.trained.target_tokenizer.decode([ids]) == [translation.text]
    forward = toys.recipe(tmp_path, steps=2)
    forward["train"]["initial_model"] = str(run)
    with pytest.raises(ConfigError, match=r"text\.target_order is backward there and forward here"):
        check_recipe(load_recipe(forward))


def test_constraints_are_rejected_for_backward_models() -> None:
    trained = untrained_model(TRANSFORMER, target=letter_tokenizer().reversed())
    translator = Translator(trained, BeamSearch(size=2), trained.recipe.translate)
    for request in (Request("abc", prefix="a"), Request("abc", include=(("b",),)), Request("abc", exclude=("b",))):
        with pytest.raises(UserError, match="this model writes lines backward"):
            translator.translate(["ab", request])


def test_backward_language_model_cannot_complete_text(tmp_path: Path) -> None:
    folder = save_model_folder(tmp_path / "model", untrained_model(LANGUAGE, target=letter_tokenizer().reversed()))
    with pytest.raises(UserError, match="cannot complete the beginning of one"):
        weft.load_language_model(folder)


def test_word_loss_is_rejected_for_backward_targets() -> None:
    node: dict[str, Any] = {
        "data": {"train": ["a.tsv"]},
        "text": {"target_order": "backward"},
        "objective": "word-loss",
    }
    with pytest.raises(ConfigError, match=r"text\.target_order: backward, but the objective word-loss finds words"):
        check_recipe(load_recipe(node))


def test_missing_fusion_model_is_reported_before_training() -> None:
    node: dict[str, Any] = {"data": {"train": ["a.tsv"]}, "translate": {"fusion": {"model": "nowhere"}}}
    with pytest.raises(ConfigError, match=r"translate\.fusion\.model: nowhere: there is no such folder"):
        check_recipe(load_recipe(node))
