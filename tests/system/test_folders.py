"""Run folders that were there before, that two processes want, and models that have nothing to say."""

from pathlib import Path

import torch

from system import toys
from system.commands import running, weft
from weft.config.load import load_recipe
from weft.engine.output import as_record
from weft.engine.translator import Translator
from weft.model.build import build
from weft.store.model_folder import Trained
from weft.text.settings import learners


def test_an_empty_folder_can_become_a_run_folder(corpus: Path, tmp_path: Path) -> None:
    recipe = toys.write_recipe(tmp_path / "recipe.yaml", toys.recipe(corpus, steps=2))
    folder = tmp_path / "empty"
    folder.mkdir()
    before = folder.stat().st_ino
    assert weft("train", recipe, "--out", folder).code == 0
    assert (folder / "best" / "manifest.json").exists()
    assert folder.stat().st_ino == before  # it may be a disk of its own


def test_two_processes_cannot_train_one_run(corpus: Path, tmp_path: Path) -> None:
    recipe = toys.write_recipe(tmp_path / "recipe.yaml", toys.recipe(corpus, steps=100_000))
    with running("train", recipe, "--out", tmp_path / "run") as first:
        first.wait_for(tmp_path / "run" / "log.jsonl", 1)
        second = weft("train", "--resume", tmp_path / "run")
        assert second.code == 2
        assert "another process is training this run" in second.err


def test_a_broken_model_does_not_pass_for_silence(corpus: Path) -> None:
    recipe = load_recipe(toys.recipe(corpus))
    _, learner = learners(recipe.text)
    tokenizer = learner.learn(["the cat sees a dog"])
    model = build(recipe.model, tokenizer.vocabulary(), tokenizer.vocabulary(), joint=True).eval()
    with torch.no_grad():
        model.get_parameter("source.weight").fill_(float("nan"))
    trained = Trained(model, tokenizer, tokenizer, recipe, {})
    (translation,) = Translator(trained, recipe.translate.search(), recipe.translate).translate(["the cat"])
    assert not translation.alternatives[0].finished
    assert as_record(translation)["score"] is None
