"""Law 6: saving and loading keeps the output; N steps = k steps, interruption, N - k steps, bit by bit."""

import shlex
import shutil
import signal
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file

import weft as api
from laws.variants import MODELS, batch, mark_changed_slow
from system import toys
from system.commands import running, weft
from system.training_runs import RecordingDisplay, interrupt_after, resume_run, run_contents, train
from weft.checkpoints.trained_model import TrainedModel, load_model, model_weights, save_model
from weft.config.recipe import Recipe
from weft.core.errors import UserError
from weft.models.build import build_model
from weft.text.tokenizer_training import CharacterTokenizerTrainer
from weft.training import mixed_precision
from weft.training.training_run import start_training

AVERAGES: dict[str, Any] = {
    "none": None,
    "exponential": {"type": "exponential", "decay": 0.9},
    "last": {"type": "snapshots", "count": 2, "every": 3},
}


@pytest.mark.parametrize("name", mark_changed_slow(MODELS))
def test_saved_model_is_loaded_unchanged(name: str, tmp_path: Path) -> None:
    tokenizer = CharacterTokenizerTrainer().train(["abcdefgh"])
    (slots,) = MODELS[name].args  # type: ignore[attr-defined]
    model = build_model(slots, tokenizer.vocabulary(), tokenizer.vocabulary(), joint=True).eval()
    save_model(
        tmp_path / "model", TrainedModel(model, tokenizer, tokenizer, Recipe(model=slots), {}), model_weights(model)
    )
    loaded = load_model(tmp_path / "model").model
    pairs = batch((5, 6), (3, 4))
    assert torch.equal(loaded.features(pairs).hidden, model.features(pairs).hidden)


@pytest.mark.parametrize(
    ("family", "average", "precision"),
    [
        ("transformer", "exponential", "auto"),
        pytest.param("transformer", "none", "bfloat16", marks=pytest.mark.slow),
        ("bahdanau", "last", "auto"),
    ],
)
def test_interrupted_run_ends_like_an_uninterrupted_run(
    family: str, average: str, precision: str, corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    node = toys.recipe(corpus, family)
    node["train"] |= {"average": AVERAGES[average], "precision": precision}
    assert train(node, tmp_path / "uninterrupted") == "done"
    interrupt_after(monkeypatch, 5)  # between two reports, before the first checkpoint
    assert train(node, tmp_path / "interrupted") == "interrupted"
    interrupt_after(monkeypatch, 9)  # at step 14, in the second epoch
    assert resume_run(tmp_path / "interrupted")[0] == "interrupted"
    end, messages = resume_run(tmp_path / "interrupted")
    assert end == "done"
    assert "resuming after step 14 of 24" in messages
    assert run_contents(tmp_path / "interrupted") == run_contents(tmp_path / "uninterrupted")


def test_chosen_precision_is_reported_and_saved(corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mixed_precision, "choose_precision", lambda *_: ("bfloat16", "of a test"))
    interrupt_after(monkeypatch, 2)
    display = RecordingDisplay()
    assert start_training(toys.recipe(corpus), tmp_path / "run", display) == "interrupted"
    assert "train.precision: bfloat16, because of a test" in display.messages
    assert "precision: bfloat16" in (tmp_path / "run" / "config.yaml").read_text("utf-8")
    weights = load_file(tmp_path / "run" / "last" / "weights.safetensors")
    assert {weight.dtype for weight in weights.values()} == {torch.float32}
    monkeypatch.setattr(mixed_precision, "choose_precision", lambda *_: ("float32", "of another machine"))
    end, messages = resume_run(tmp_path / "run")
    assert end == "done"
    assert not any("train.precision" in line for line in messages)


def test_another_seed_gives_another_model(corpus: Path, tmp_path: Path) -> None:
    """The comparisons above can fail."""
    node = toys.recipe(corpus, steps=3)
    for seed in (1, 2):
        node["train"]["seed"] = seed
        train(node, tmp_path / str(seed))
    first, second = (run_contents(tmp_path / str(seed)) for seed in (1, 2))
    assert first["best/weights.safetensors"] != second["best/weights.safetensors"]


def test_command_and_python_api_give_the_same_run(corpus: Path, tmp_path: Path) -> None:
    recipe = toys.write_recipe(tmp_path / "recipe.yaml", toys.recipe(corpus, "bahdanau"))
    assert weft("train", recipe, "train.steps=4", "train.seed=9", "--out", tmp_path / "command").code == 0
    for name in ("first", "second"):
        overrides = ["train.steps=4", "train.seed=9"]
        assert api.train(str(recipe), out=tmp_path / name, overrides=overrides) == tmp_path / name
        assert run_contents(tmp_path / name) == run_contents(tmp_path / "command")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_signal_saves_and_prints_the_resume_command(number: signal.Signals, corpus: Path, tmp_path: Path) -> None:
    node = toys.recipe(corpus, steps=100_000)
    node["train"] |= {"log_every": 1, "validation": {"every": 100_000}, "checkpoint_steps": 100_000}
    recipe = toys.write_recipe(tmp_path / "recipe.yaml", node)
    out = tmp_path / "my run"
    command = ["train", str(recipe), "--out", str(out)]
    for reports in (2, 6):
        with running(*command) as training:
            training.wait_for(out / "log.jsonl", reports)
            training.send(number)
            result = training.wait()
        assert result.code == 130
        message = result.err.split("\n")[-2]
        assert "everything is saved" in message
        name, *command = shlex.split(message.partition("Resume with: ")[2])
        assert name == "weft"
    assert command == ["train", "--resume", str(out)]
    steps = [record["step"] for record in run_contents(out)["log.jsonl"]]
    assert steps == list(range(1, len(steps) + 1))
    assert weft("translate", out, stdin=b"the cat\n").code == 0  # uses the last weights: there was no validation


def test_resuming_a_finished_run_changes_nothing(corpus: Path, tmp_path: Path) -> None:
    node = toys.recipe(corpus, steps=4)
    train(node, tmp_path / "run")
    before = run_contents(tmp_path / "run")
    assert resume_run(tmp_path / "run")[0] == "done"
    assert run_contents(tmp_path / "run") == before


def test_run_stopped_by_patience_stays_stopped(corpus: Path, tmp_path: Path) -> None:
    node = toys.recipe(corpus)
    node["train"]["validation"] |= {"every": 2, "lines": 2, "metrics": ["exact"], "best_metric": "exact", "patience": 2}
    assert train(node, tmp_path / "run") == "patience"
    before = run_contents(tmp_path / "run")
    assert before["log.jsonl"][-1]["step"] == 6  # the first validation was the best, the next two were not better
    assert resume_run(tmp_path / "run")[0] == "patience"
    assert run_contents(tmp_path / "run") == before


def test_checkpoints_are_saved_by_minutes(corpus: Path, tmp_path: Path) -> None:
    node = toys.recipe(corpus, steps=5)
    node["train"] |= {"checkpoint_steps": 1000, "checkpoint_minutes": 1e-9}
    train(node, tmp_path / "run")
    names = sorted(path.name for path in (tmp_path / "run" / "checkpoints").iterdir())
    assert names == ["step-00000004", "step-00000005"]


@pytest.mark.parametrize("damage", ["flipped", "missing"])
def test_damaged_checkpoint_is_skipped(
    damage: str, corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    node = toys.recipe(corpus, steps=8)
    node["train"]["checkpoint_steps"] = 3
    train(node, tmp_path / "uninterrupted")
    interrupt_after(monkeypatch, 7)
    train(node, tmp_path / "run")
    damage_file(tmp_path / "run" / "checkpoints" / "step-00000007" / "optimizer.safetensors", damage)
    end, messages = resume_run(tmp_path / "run")
    assert end == "done"
    assert "resuming after step 6 of 8" in messages
    assert any("skipped" in line and "step-00000007" in line for line in messages)
    uninterrupted, run = run_contents(tmp_path / "uninterrupted"), run_contents(tmp_path / "run")
    newest = [name for name in uninterrupted if not name.startswith("checkpoints/step-00000006/")]
    assert {name: run[name] for name in newest} == {name: uninterrupted[name] for name in newest}


def test_changed_configuration_is_reported(corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    interrupt_after(monkeypatch, 2)
    train(toys.recipe(corpus, steps=4), tmp_path / "run")
    assert not any("the configuration has changed" in line for line in resume_run(tmp_path / "run")[1])
    config = tmp_path / "run" / "config.yaml"
    config.write_text(
        config.read_text("utf-8")
        .replace("steps: 4\n", "steps: 5\n")
        .replace("learning_rate: 0.01", "learning_rate: 0.02")
    )
    end, messages = resume_run(tmp_path / "run")
    assert end == "done"
    (message,) = (line for line in messages if line.startswith("the configuration has changed since step 4: "))
    assert "train.steps: 4 -> 5; " in message
    assert "train.schedule.learning_rate: 0.01 -> 0.02. The new values" in message


def test_run_without_checkpoints_starts_again(corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    node = toys.recipe(corpus, steps=4)
    node["train"]["checkpoint_steps"] = 2
    train(node, tmp_path / "uninterrupted")
    interrupt_after(monkeypatch, 3)
    train(node, tmp_path / "run")
    shutil.rmtree(tmp_path / "run" / "checkpoints")
    end, messages = resume_run(tmp_path / "run")
    assert end == "done"
    assert any("no checkpoint" in line for line in messages)
    names = ("best/weights.safetensors", "checkpoints/step-00000004/optimizer.safetensors", "log.jsonl")
    uninterrupted, run = run_contents(tmp_path / "uninterrupted"), run_contents(tmp_path / "run")
    assert [name for name in names if run[name] != uninterrupted[name]] == []


def damage_file(path: Path, damage: str) -> None:
    if damage == "missing":
        path.unlink()
        return
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)


def test_run_with_only_damaged_checkpoints_is_not_resumed(
    corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    node = toys.recipe(corpus, steps=8)
    node["train"]["checkpoint_steps"] = 3
    interrupt_after(monkeypatch, 4)
    train(node, tmp_path / "run")
    for path in (tmp_path / "run" / "checkpoints").glob("*/weights.safetensors"):
        damage_file(path, "flipped")
    before = run_contents(tmp_path / "run")
    with pytest.raises(UserError) as caught:
        resume_run(tmp_path / "run")
    assert "step-00000003/weights.safetensors" in str(caught.value)
    assert "step-00000004/weights.safetensors" in str(caught.value)
    assert run_contents(tmp_path / "run") == before
