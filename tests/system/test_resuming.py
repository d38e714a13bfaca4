"""Law 6: save -> load -> the same output; N steps = k steps, stop, go on, N - k steps, to the bit."""

import shlex
import shutil
import signal
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file

import weft as api
from laws.variants import MODELS, batch, plain_first
from system import toys
from system.commands import running, weft
from system.following import Quiet, go_on, interrupt_after, left_behind, train
from weft.checkpoints.trained_model import TrainedModel, load_model, model_weights, save_model
from weft.config.recipe import Recipe
from weft.core.errors import UserError
from weft.models.build import build_model
from weft.text.tokenizer_training import CharacterTokenizerTrainer
from weft.training import mixed_precision as choosing
from weft.training.training_run import start_training

AVERAGES: dict[str, Any] = {
    "none": None,
    "exponential": {"type": "exponential", "decay": 0.9},
    "last": {"type": "snapshots", "count": 2, "every": 3},
}


@pytest.mark.parametrize("name", plain_first(MODELS))
def test_every_model_comes_back_as_it_was_saved(name: str, tmp_path: Path) -> None:
    tokenizer = CharacterTokenizerTrainer().train(["abcdefgh"])
    (slots,) = MODELS[name].args  # type: ignore[attr-defined]
    model = build_model(slots, tokenizer.vocabulary(), tokenizer.vocabulary(), joint=True).eval()
    save_model(
        tmp_path / "model", TrainedModel(model, tokenizer, tokenizer, Recipe(model=slots), {}), model_weights(model)
    )
    again = load_model(tmp_path / "model").model
    pairs = batch((5, 6), (3, 4))
    assert torch.equal(again.features(pairs).hidden, model.features(pairs).hidden)


@pytest.mark.parametrize(
    ("family", "average", "precision"),
    [
        ("transformer", "exponential", "auto"),
        pytest.param("transformer", "none", "bfloat16", marks=pytest.mark.slow),
        ("bahdanau", "last", "auto"),
    ],
)
def test_a_stopped_run_ends_as_one_that_was_not(
    family: str, average: str, precision: str, corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    node = toys.recipe(corpus, family)
    node["train"] |= {"average": AVERAGES[average], "precision": precision}
    assert train(node, tmp_path / "straight") == "done"
    interrupt_after(monkeypatch, 5)  # between two reports, before the first checkpoint
    assert train(node, tmp_path / "stopped") == "interrupted"
    interrupt_after(monkeypatch, 9)  # at step 14, in the second epoch
    assert go_on(tmp_path / "stopped")[0] == "interrupted"
    end, said = go_on(tmp_path / "stopped")
    assert end == "done"
    assert "resuming after step 14 of 24" in said
    assert left_behind(tmp_path / "stopped") == left_behind(tmp_path / "straight")


def test_the_precision_that_was_chosen_is_told_and_written_down(
    corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(choosing, "choose_precision", lambda *_: ("bfloat16", "of a test"))
    interrupt_after(monkeypatch, 2)
    display = Quiet()
    assert start_training(toys.recipe(corpus), tmp_path / "run", display) == "interrupted"
    assert "train.precision: bfloat16, because of a test" in display.said
    assert "precision: bfloat16" in (tmp_path / "run" / "config.yaml").read_text("utf-8")
    weights = load_file(tmp_path / "run" / "last" / "weights.safetensors")
    assert {weight.dtype for weight in weights.values()} == {torch.float32}
    monkeypatch.setattr(choosing, "choose_precision", lambda *_: ("float32", "of another machine"))
    end, said = go_on(tmp_path / "run")
    assert end == "done"
    assert not any("train.precision" in line for line in said)


def test_another_seed_is_another_run(corpus: Path, tmp_path: Path) -> None:
    """What makes the comparisons above worth something."""
    node = toys.recipe(corpus, steps=3)
    for seed in (1, 2):
        node["train"]["seed"] = seed
        train(node, tmp_path / str(seed))
    first, second = (left_behind(tmp_path / str(seed)) for seed in (1, 2))
    assert first["best/weights.safetensors"] != second["best/weights.safetensors"]


def test_the_command_and_python_do_the_same(corpus: Path, tmp_path: Path) -> None:
    recipe = toys.write_recipe(tmp_path / "recipe.yaml", toys.recipe(corpus, "bahdanau"))
    assert weft("train", recipe, "train.steps=4", "train.seed=9", "--out", tmp_path / "command").code == 0
    for name in ("first", "second"):
        overrides = ["train.steps=4", "train.seed=9"]
        assert api.train(str(recipe), out=tmp_path / name, overrides=overrides) == tmp_path / name
        assert left_behind(tmp_path / name) == left_behind(tmp_path / "command")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_saves_and_tells_how_to_go_on(number: signal.Signals, corpus: Path, tmp_path: Path) -> None:
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
        told = result.err.split("\n")[-2]
        assert "everything is saved" in told
        name, *command = shlex.split(told.partition("Resume with: ")[2])
        assert name == "weft"
    assert command == ["train", "--resume", str(out)]
    steps = [record["step"] for record in left_behind(out)["log.jsonl"]]
    assert steps == list(range(1, len(steps) + 1))
    assert weft("translate", out, stdin=b"the cat\n").code == 0  # the last weights, as none were validated


def test_a_finished_run_is_left_as_it_is(corpus: Path, tmp_path: Path) -> None:
    node = toys.recipe(corpus, steps=4)
    train(node, tmp_path / "run")
    before = left_behind(tmp_path / "run")
    assert go_on(tmp_path / "run")[0] == "done"
    assert left_behind(tmp_path / "run") == before


def test_patience_ends_a_run_and_stays_at_its_end(corpus: Path, tmp_path: Path) -> None:
    node = toys.recipe(corpus)
    node["train"]["validation"] |= {"every": 2, "lines": 2, "metrics": ["exact"], "best_metric": "exact", "patience": 2}
    assert train(node, tmp_path / "run") == "patience"
    before = left_behind(tmp_path / "run")
    assert before["log.jsonl"][-1]["step"] == 6  # the first was the best, then two without a better one
    assert go_on(tmp_path / "run")[0] == "patience"
    assert left_behind(tmp_path / "run") == before


def test_checkpoints_come_with_time(corpus: Path, tmp_path: Path) -> None:
    node = toys.recipe(corpus, steps=5)
    node["train"] |= {"checkpoint_steps": 1000, "checkpoint_minutes": 1e-9}
    train(node, tmp_path / "run")
    found = sorted(path.name for path in (tmp_path / "run" / "checkpoints").iterdir())
    assert found == ["step-00000004", "step-00000005"]


@pytest.mark.parametrize("damage", ["flipped", "missing"])
def test_a_damaged_checkpoint_is_passed_over(
    damage: str, corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    node = toys.recipe(corpus, steps=8)
    node["train"]["checkpoint_steps"] = 3
    train(node, tmp_path / "straight")
    interrupt_after(monkeypatch, 7)
    train(node, tmp_path / "run")
    harm(tmp_path / "run" / "checkpoints" / "step-00000007" / "optimizer.safetensors", damage)
    end, said = go_on(tmp_path / "run")
    assert end == "done"
    assert "resuming after step 6 of 8" in said
    assert any("skipped" in line and "step-00000007" in line for line in said)
    straight, run = left_behind(tmp_path / "straight"), left_behind(tmp_path / "run")
    newest = [name for name in straight if not name.startswith("checkpoints/step-00000006/")]
    assert {name: run[name] for name in newest} == {name: straight[name] for name in newest}


def test_a_changed_configuration_is_told(corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    interrupt_after(monkeypatch, 2)
    train(toys.recipe(corpus, steps=4), tmp_path / "run")
    assert not any("the configuration has changed" in line for line in go_on(tmp_path / "run")[1])
    config = tmp_path / "run" / "config.yaml"
    config.write_text(
        config.read_text("utf-8")
        .replace("steps: 4\n", "steps: 5\n")
        .replace("learning_rate: 0.01", "learning_rate: 0.02")
    )
    end, said = go_on(tmp_path / "run")
    assert end == "done"
    (told,) = (line for line in said if line.startswith("the configuration has changed since step 4: "))
    assert "train.steps: 4 -> 5; " in told
    assert "train.schedule.learning_rate: 0.01 -> 0.02. The new values" in told


def test_checkpoints_that_were_removed_are_made_again(
    corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    node = toys.recipe(corpus, steps=4)
    node["train"]["checkpoint_steps"] = 2
    train(node, tmp_path / "straight")
    interrupt_after(monkeypatch, 3)
    train(node, tmp_path / "run")
    shutil.rmtree(tmp_path / "run" / "checkpoints")
    end, said = go_on(tmp_path / "run")
    assert end == "done"
    assert any("no checkpoint" in line for line in said)
    kept = ("best/weights.safetensors", "checkpoints/step-00000004/optimizer.safetensors", "log.jsonl")
    straight, run = left_behind(tmp_path / "straight"), left_behind(tmp_path / "run")
    assert [name for name in kept if run[name] != straight[name]] == []


def harm(path: Path, damage: str) -> None:
    if damage == "missing":
        path.unlink()
        return
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)


def test_without_any_whole_checkpoint_a_run_does_not_go_on(
    corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    node = toys.recipe(corpus, steps=8)
    node["train"]["checkpoint_steps"] = 3
    interrupt_after(monkeypatch, 4)
    train(node, tmp_path / "run")
    for path in (tmp_path / "run" / "checkpoints").glob("*/weights.safetensors"):
        harm(path, "flipped")
    before = left_behind(tmp_path / "run")
    with pytest.raises(UserError) as caught:
        go_on(tmp_path / "run")
    assert "step-00000003/weights.safetensors" in str(caught.value)
    assert "step-00000004/weights.safetensors" in str(caught.value)
    assert left_behind(tmp_path / "run") == before
