"""Run folders that were there before, that two processes want, and models that have nothing to say."""

from pathlib import Path
from typing import Any

import pytest
import torch

from system import toys
from system.commands import running, weft
from system.following import Quiet, left_behind, train
from weft.config.load import load_recipe
from weft.core.errors import UserError
from weft.engine.records import as_record
from weft.engine.translator import Translator
from weft.model.build import build
from weft.store.files import locked
from weft.store.model_folder import Trained
from weft.text.settings import learners
from weft.training import run
from weft.training.folder import RunFolder
from weft.training.prepare import prepare
from weft.training.ranks import ON_CPU
from weft.training.run import first_run
from weft.training.start import start


def test_an_empty_folder_can_become_a_run_folder(corpus: Path, tmp_path: Path) -> None:
    recipe = toys.write_recipe(tmp_path / "recipe.yaml", toys.recipe(corpus, steps=2))
    folder = tmp_path / "empty"
    folder.mkdir()
    before = folder.stat().st_ino
    assert weft("train", recipe, "--out", folder).code == 0
    assert (folder / "best" / "manifest.json").exists()
    assert folder.stat().st_ino == before  # it may be a disk of its own


def test_a_run_tells_where_its_model_is_and_how_short_it_was(corpus: Path, tmp_path: Path) -> None:
    validated, not_validated = Quiet(), Quiet()
    start(toys.recipe(corpus, steps=5), tmp_path / "a", validated)
    assert f"the best model is in {tmp_path}/a/best. To use it: weft translate {tmp_path}/a" in validated.said[-1]
    assert not any("warmup" in said for said in validated.said)
    start(toys.recipe(corpus, steps=4), tmp_path / "b", not_validated, settings=["data.valid=[]"])
    assert f"the last model is in {tmp_path}/b/last (nothing was validated" in not_validated.said[-1]
    assert not_validated.said[0].startswith("train.schedule.warmup is 5 steps, but the run has 4: the learning rate")
    weights = [tmp_path / "b" / name / "weights.safetensors" for name in ("best", "last")]
    assert weights[0].read_bytes() == weights[1].read_bytes()


def test_two_processes_cannot_write_into_one_run(corpus: Path, tmp_path: Path) -> None:
    recipe = toys.write_recipe(tmp_path / "recipe.yaml", toys.recipe(corpus, steps=100_000))
    with running("train", recipe, "--out", tmp_path / "run") as first:
        first.wait_for(tmp_path / "run" / "log.jsonl", 1)
        for command in (("train", "--resume"), ("shortlist",)):
            second = weft(*command, tmp_path / "run")
            assert second.code == 2
            assert f"{tmp_path / 'run'}: another process is writing there (it trains this run, or" in second.err


def test_a_run_is_not_begun_where_another_came_first(
    corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A job that was submitted twice: both find the folder free, and the second still reads when the first trains."""
    node = toys.recipe(corpus, steps=2)

    def slow(*arguments: Any) -> Any:
        monkeypatch.setattr(run, "prepare", prepare)
        assert train(node, tmp_path / "run") == "done"
        return prepare(*arguments)

    monkeypatch.setattr(run, "prepare", slow)
    with pytest.raises(UserError, match="another process has written there meanwhile"):
        train({**node, "train": {**node["train"], "seed": 7}}, tmp_path / "run")
    assert train(node, tmp_path / "alone") == "done"
    assert left_behind(tmp_path / "run") == left_behind(tmp_path / "alone")
    assert {path.name for path in tmp_path.iterdir()} == {"run", "alone"}


def test_only_one_process_begins_what_is_ready_to_begin(corpus: Path, runs: dict[str, Path], tmp_path: Path) -> None:
    """Fine-tuning has its folder before its run."""
    out = tmp_path / "tuned"
    settings = ("train.steps=1", "data.valid=[]", "--out", out)
    command = ("finetune", runs["bahdanau"], corpus / "valid.src", corpus / "valid.tgt", *settings)
    assert weft(*command).code == 0
    (out / "config.yaml").unlink()
    with locked(out):
        second = weft(*command)
    assert second.code == 2
    assert "another process is writing there" in second.err
    assert not (out / "config.yaml").is_file()
    assert weft(*command).code == 0
    with pytest.raises(UserError, match="another process has begun this run meanwhile"):
        first_run(RunFolder(out).recipe(), RunFolder(out), Quiet(), ON_CPU)


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
