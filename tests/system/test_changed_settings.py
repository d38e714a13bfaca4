"""Resuming a run with changed settings: fixed settings are refused, other changes are reported and applied."""

import json
import shutil
from pathlib import Path

import pytest
from safetensors.torch import load_file

from system import toys
from system.training_runs import resume_run, run_contents, train
from weft.checkpoints.manifest import write_manifest
from weft.config.recipe import load_recipe
from weft.config.registry import REGISTRY
from weft.config.serialization import to_dict
from weft.config.yaml_files import dump_yaml
from weft.core.errors import UserError


@pytest.fixture(scope="module")
def finished(corpus: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of four steps."""
    run = tmp_path_factory.mktemp("changed") / "run"
    node = toys.recipe(corpus, steps=4)
    node["train"] |= {"validation": {"every": 2, "lines": 2, "search": "greedy"}}
    assert train(node, run) == "done"
    return run


@pytest.fixture
def run(finished: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(finished, tmp_path / "run"))


def change(run: Path, *settings: str) -> None:
    """Edit the run's config.yaml as a user would."""
    config = run / "config.yaml"
    config.write_text(dump_yaml(to_dict(load_recipe(config, settings), REGISTRY)), "utf-8")


@pytest.mark.parametrize(
    ("setting", "expected"),
    [
        ("text.source.vocab_size=80", "text.source.vocab_size: 90 -> 80"),
        ("text.sample_size=7", "text.sample_size: 200000 -> 7"),
        ("model.encoder.layers=2", "model.encoder.layers: 1 -> 2"),
        ("train.freeze=[encoder]", "train.freeze: [] -> [encoder]"),
        ("train.initial_model=elsewhere", "train.initial_model: null -> elsewhere"),
    ],
)
@pytest.mark.parametrize("checkpoints", [True, False])
def test_fixed_settings_cannot_change(setting: str, expected: str, checkpoints: bool, run: Path) -> None:
    if not checkpoints:
        shutil.rmtree(run / "checkpoints")
    change(run, setting, "model.encoder.dropout=0.2")
    before = run_contents(run)
    with pytest.raises(UserError) as caught:
        resume_run(run)
    assert str(caught.value).startswith(f"{run / 'config.yaml'}: {expected}: this cannot change once a run has started")
    assert run_contents(run) == before


def test_invalid_settings_are_reported(run: Path) -> None:
    change(run, "train.steps=null", "train.validation.best_metric=ter")
    with pytest.raises(UserError) as caught:
        resume_run(run)
    assert "train.steps: is null" in str(caught.value)
    assert "train.validation.best_metric: 'ter' is not measured" in str(caught.value)


@pytest.mark.parametrize(
    ("setting", "reset"),
    [
        ("train.optimizer=adadelta", "the optimizer state"),
        ("train.optimizer={type: sgd, momentum: 0.5}", "the optimizer state"),
        ("train.average={type: snapshots, count: 2, every: 1}", "the average of the weights"),
        ("train.validation.best_metric=loss", "the best model"),
        ("objective={type: word-loss}", "the means of the next report, the best model"),
        ("train.average=null", None),
        ("train.optimizer.beta1=0.8", None),
        ("model.encoder.dropout=0.2", None),
        ("text.source.dropout=0.0", None),
        ("data.max_length=30", None),
        ("train.batch_tokens=200", None),
        ("train.seed=5", None),
    ],
)
def test_changed_settings_and_resets_are_reported(setting: str, reset: str | None, run: Path) -> None:
    change(run, setting, "train.steps=6", "train.log_every=2")
    end, messages = resume_run(run)
    assert end == "done"
    (message,) = (line for line in messages if line.startswith("the configuration has changed since step 4: "))
    assert setting.split("=")[0] in message
    assert message.partition(". Reset: ")[2] == (reset or "")


def test_state_of_another_optimizer_is_reset(run: Path) -> None:
    change(run, "train.optimizer=adadelta", "train.steps=5")
    resume_run(run)
    moments = load_file(run / "checkpoints" / "step-00000005" / "optimizer.safetensors")
    assert {key.split(".")[1] for key in moments} == {"step", "square_avg", "acc_delta"}
    assert {float(moment) for key, moment in moments.items() if key.endswith(".step")} == {1.0}


def test_best_model_is_reset_with_another_metric(run: Path) -> None:
    change(run, "train.validation.best_metric=loss", "train.steps=6")
    resume_run(run)
    metrics = json.loads((run / "best" / "metrics.json").read_text("utf-8"))
    assert metrics["step"] == 6
    state = json.loads((run / "checkpoints" / "step-00000006" / "state.json").read_text("utf-8"))
    assert state["best_score"] == metrics["validation"]["loss"]


def test_missing_fixed_settings_are_reported_as_damage(run: Path) -> None:
    data = json.loads((run / "data.json").read_text("utf-8"))
    del data["fixed_settings"]
    (run / "data.json").write_text(json.dumps(data), "utf-8")
    with pytest.raises(UserError, match=r"data\.json: is damaged at fixed_settings"):
        resume_run(run)


def test_invalid_state_is_reported(run: Path) -> None:
    """Even if its hash matches the manifest."""
    (checkpoint,) = run.glob("checkpoints/step-00000004")
    (checkpoint / "state.json").write_text('{"best_score": 1, "validations_since_best": "often"}', "utf-8")
    write_manifest(checkpoint, {"kind": "checkpoint"})
    with pytest.raises(UserError, match=f"^{run / 'checkpoints'}: is damaged at validations_since_best"):
        resume_run(run)
