"""Run folders that exist already or that two processes use, and the final messages of a run."""

from pathlib import Path
from typing import Any

import pytest
import torch

from system import toys
from system.commands import running, weft
from system.training_runs import RecordingDisplay, run_contents, train
from weft.checkpoints.trained_model import TrainedModel
from weft.config.recipe import load_recipe
from weft.core.errors import UserError
from weft.core.files import path_lock
from weft.inference.translator import Translator
from weft.models.build import build_model
from weft.text.text_config import codec_trainers
from weft.training import training_run
from weft.training.data_preparation import prepare_data
from weft.training.distributed import CPU_RANK
from weft.training.finetuning import FinetuningFolder
from weft.training.run_folder import RunFolder
from weft.training.training_run import run_training, start_training


def test_empty_folder_becomes_a_run_folder(corpus: Path, tmp_path: Path) -> None:
    recipe = toys.write_recipe(tmp_path / "recipe.yaml", toys.recipe(corpus, steps=2))
    folder = tmp_path / "empty"
    folder.mkdir()
    before = folder.stat().st_ino
    assert weft("train", recipe, "--out", folder).code == 0
    assert (folder / "best" / "manifest.json").exists()
    assert folder.stat().st_ino == before  # it may be a mount point


def test_run_reports_its_model_and_a_short_schedule(corpus: Path, tmp_path: Path) -> None:
    validated, not_validated = RecordingDisplay(), RecordingDisplay()
    start_training(toys.recipe(corpus, steps=5), tmp_path / "a", validated)
    assert f"the best model is in {tmp_path}/a/best. To use it: weft translate {tmp_path}/a" in validated.messages[-1]
    assert not any("warmup" in message for message in validated.messages)
    start_training(toys.recipe(corpus, steps=4), tmp_path / "b", not_validated, settings=["data.valid=[]"])
    assert f"the last model is in {tmp_path}/b/last (there was no validation" in not_validated.messages[-1]
    assert not_validated.messages[0].startswith(
        "train.schedule.warmup_steps is 5, but the run has 4 steps: the learning rate"
    )
    weights = [tmp_path / "b" / name / "weights.safetensors" for name in ("best", "last")]
    assert weights[0].read_bytes() == weights[1].read_bytes()


def test_two_processes_cannot_write_one_run(corpus: Path, tmp_path: Path) -> None:
    recipe = toys.write_recipe(tmp_path / "recipe.yaml", toys.recipe(corpus, steps=100_000))
    with running("train", recipe, "--out", tmp_path / "run") as first:
        first.wait_for(tmp_path / "run" / "log.jsonl", 1)
        for command in (("train", "--resume"), ("shortlist",)):
            second = weft(*command, tmp_path / "run")
            assert second.code == 2
            assert f"{tmp_path / 'run'}: another process is writing there (it trains this run, or" in second.err


def test_run_does_not_overwrite_a_concurrent_one(corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A job submitted twice: both find no folder, and the second is reading data while the first trains."""
    node = toys.recipe(corpus, steps=2)

    def slow_prepare_data(*arguments: Any) -> Any:
        monkeypatch.setattr(training_run, "prepare_data", prepare_data)
        assert train(node, tmp_path / "run") == "done"
        return prepare_data(*arguments)

    monkeypatch.setattr(training_run, "prepare_data", slow_prepare_data)
    with pytest.raises(UserError, match="another process has written there meanwhile"):
        train({**node, "train": {**node["train"], "seed": 7}}, tmp_path / "run")
    assert train(node, tmp_path / "alone") == "done"
    assert run_contents(tmp_path / "run") == run_contents(tmp_path / "alone")
    assert {path.name for path in tmp_path.iterdir()} == {"run", "alone"}


def test_only_one_process_starts_a_prepared_run(corpus: Path, runs: dict[str, Path], tmp_path: Path) -> None:
    """Fine-tuning makes its folder before its run starts."""
    out = tmp_path / "tuned"
    settings = ("train.steps=1", "data.valid=[]", "--out", out)
    command = ("finetune", runs["bahdanau"], corpus / "valid.src", corpus / "valid.tgt", *settings)
    assert weft(*command).code == 0
    (out / "config.yaml").unlink()
    with path_lock(out):
        second = weft(*command)
    assert second.code == 2
    assert "another process is writing there" in second.err
    assert not (out / "config.yaml").is_file()
    assert weft(*command).code == 0
    with pytest.raises(UserError, match="another process has started this run meanwhile"):
        run_training(FinetuningFolder(out), RunFolder(out).recipe(), RecordingDisplay(), CPU_RANK)


def test_model_with_nan_weights_gives_an_unfinished_hypothesis(corpus: Path) -> None:
    recipe = load_recipe(toys.recipe(corpus))
    _, trainer = codec_trainers(recipe.text)
    tokenizer = trainer.train(["the cat sees a dog"])
    model = build_model(recipe.model, tokenizer.vocabulary(), tokenizer.vocabulary(), joint=True).eval()
    with torch.no_grad():
        model.get_parameter("source.weight").fill_(float("nan"))
    trained = TrainedModel(model, tokenizer, tokenizer, recipe, {})
    (translation,) = Translator(trained, recipe.translate.search(), recipe.translate).translate(["the cat"])
    assert not translation.alternatives[0].finished
    assert translation.record()["score"] is None
