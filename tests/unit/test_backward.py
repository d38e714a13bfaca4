"""Targets that are said from right to left: text stays text."""

from pathlib import Path
from random import Random
from typing import Any

import pytest

import weft
from system import toys
from unit.models import LANGUAGE, TRANSFORMER, letters, saved, untrained
from unit.test_tokenizers import KINDS, LINES, ODD_LINES, names
from weft.config.load import load_recipe
from weft.control.request import Request
from weft.core.errors import ConfigError, UserError
from weft.core.marks import END
from weft.engine.translator import Translator
from weft.search.beam import Beam
from weft.store.model_folder import load_model
from weft.text.dropout import BpeDropout
from weft.text.learners import BPE, Character, Learner
from weft.text.settings import Text, learn_tokenizers
from weft.text.words import words_of
from weft.training.checks import check


@pytest.mark.parametrize("learner", KINDS, ids=names)
def test_the_text_is_that_of_the_same_pieces_forward(learner: Learner) -> None:
    forward = learner.learn(LINES)
    backward = forward.backward()
    for lines in (LINES, ODD_LINES):
        rows = backward.encode(lines)
        assert rows == [row[::-1] for row in forward.encode(lines)]
        assert [row.tolist() for row in backward.encode_rows(lines).split()] == rows
        assert backward.decode(rows) == forward.decode(forward.encode(lines))
    assert backward.vocabulary() == forward.vocabulary()
    assert backward.fingerprint != forward.fingerprint


def test_one_tokenizer_for_both_sides_may_be_backward_on_one() -> None:
    pairs = [("ab cd", "dc ba")]
    source, target = learn_tokenizers(Text(source=Character, target_order="backward"), pairs, seed=1)
    assert source.vocabulary() == target.vocabulary()
    [row] = source.encode_rows(["ab cd"]).split()
    assert target.encode(["ab cd"]) == [row[::-1].tolist()]
    same, other = learn_tokenizers(Text(source=Character), pairs, seed=1)
    assert same is other


def test_dropout_splits_words_whatever_the_order() -> None:
    tokenizer = BPE(size=150, unknown="token").learn(LINES)
    for line in LINES[:5]:
        [forward], [backward] = tokenizer.encode([line]), tokenizer.backward().encode([line])
        dropped = BpeDropout(tokenizer, 0.4)(forward, Random(3))
        assert BpeDropout(tokenizer.backward(), 0.4)(backward, Random(3)) == dropped[::-1]
        assert dropped != forward


def test_words_are_shown_as_they_are_written() -> None:
    tokenizer = BPE(size=22, unknown="token", min_count=1).learn(["the red cats see a dog"]).backward()
    [row] = tokenizer.encode(["the red cats see"])
    assert len(row) > 4
    assert [span.name for span in words_of([*row, END], tokenizer)] == ["see", "cats", "red", "the", "<end>"]


def test_a_model_folder_knows_the_order(tmp_path: Path) -> None:
    folder = saved(tmp_path / "model", untrained(TRANSFORMER, target=letters().backward()))
    assert (folder / "target.backward.json").exists()
    found = load_model(folder)
    assert (found.source_tokenizer.describe(), found.target_tokenizer.order) == (letters().describe(), "backward")
    assert load_model(saved(tmp_path / "other", untrained(TRANSFORMER))).target_tokenizer.order == "forward"


def test_a_run_trains_translates_and_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WEFT_CACHE", str(tmp_path / "cache"))
    node: dict[str, Any] = toys.recipe(toys.write_corpus(tmp_path), steps=2)
    node["text"]["target_order"] = "backward"
    node["train"] |= {"validation": {"every": 2, "lines": 2, "search": "greedy"}, "accumulate": 1}
    run = weft.train(node, out=tmp_path / "run")
    translator = weft.load(run)
    assert translator.trained.target_tokenizer.order == "backward"
    [one] = translator.translate(["the red cat sees a dog"])
    best = one.alternatives[0]
    ids = [translator.trained.target_tokenizer.vocabulary().index(piece) for piece in best.pieces[:-1]]
    assert translator.trained.target_tokenizer.decode([ids]) == [one.text]
    forward = toys.recipe(tmp_path, steps=2)
    forward["train"]["start"] = str(run)
    with pytest.raises(ConfigError, match=r"text\.target_order is backward there and forward here"):
        check(load_recipe(forward))


def test_what_a_line_asks_for_is_for_models_that_write_forward() -> None:
    trained = untrained(TRANSFORMER, target=letters().backward())
    translator = Translator(trained, Beam(size=2), trained.recipe.translate)
    for request in (Request("abc", prefix="a"), Request("abc", include=(("b",),)), Request("abc", exclude=("b",))):
        with pytest.raises(UserError, match="this model writes a line from its end to its beginning"):
            translator.translate(["ab", request])


def test_a_backward_language_model_completes_nothing(tmp_path: Path) -> None:
    folder = saved(tmp_path / "model", untrained(LANGUAGE, target=letters().backward()))
    with pytest.raises(UserError, match="cannot go on with the beginning of one"):
        weft.load_language_model(folder)


def test_words_cannot_be_found_from_right_to_left() -> None:
    node: dict[str, Any] = {
        "data": {"train": ["a.tsv"]},
        "text": {"target_order": "backward"},
        "objective": "word-loss",
    }
    with pytest.raises(ConfigError, match=r"text\.target_order: backward, but the objective word-loss finds words"):
        check(load_recipe(node))


def test_a_language_model_that_is_not_there_is_told_before_training() -> None:
    node: dict[str, Any] = {"data": {"train": ["a.tsv"]}, "translate": {"fusion": {"model": "nowhere"}}}
    with pytest.raises(ConfigError, match=r"translate\.fusion\.model: nowhere: there is no such folder"):
        check(load_recipe(node))
