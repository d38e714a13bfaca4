"""Runs that start with the weights of another run (train.initial_model), with another objective."""

import shutil
from pathlib import Path
from typing import Any

import pytest
from safetensors.torch import load_file

from system import toys
from system.training_runs import interrupt_after, resume_run, run_contents, train
from weft.core.errors import UserError

RISK = {"type": "minimum-risk", "samples": 3, "cost": "chrf", "alpha": 1.0, "max_length_extra": 2}


@pytest.fixture
def initial_run(corpus: Path, tmp_path: Path) -> Path:
    """A run folder, trained by cross-entropy."""
    assert train(toys.recipe(corpus, "bahdanau", steps=4), tmp_path / "initial_run") == "done"
    return tmp_path / "initial_run"


def warm_start_recipe(initial_run: Path, corpus: Path, objective: dict[str, Any]) -> dict[str, Any]:
    """Return a recipe that starts with the weights of `initial_run`."""
    node = toys.recipe(corpus, "bahdanau", steps=4)
    node["train"] |= {
        "initial_model": str(initial_run),
        "seed": 2,
        "checkpoint_steps": 100,
        "validation": {"every": 4, "lines": 2},
    }
    return {**node, "objective": objective}


def test_run_starts_with_the_weights_and_tokenizers(
    initial_run: Path, corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    interrupt_after(monkeypatch, 1)
    assert train(warm_start_recipe(initial_run, corpus, RISK), tmp_path / "run") == "interrupted"
    best = load_file(initial_run / "best" / "weights.safetensors")
    start = load_file(tmp_path / "run" / "checkpoints" / "step-00000000" / "weights.safetensors")
    updated = load_file(tmp_path / "run" / "checkpoints" / "step-00000001" / "weights.safetensors")
    assert start.keys() == best.keys()
    assert all(start[name].equal(best[name]) for name in best)
    assert not any(updated[name].equal(best[name]) for name in best)
    for tokenizer in initial_run.glob("*.tokenizer.json"):
        assert (tmp_path / "run" / tokenizer.name).read_bytes() == tokenizer.read_bytes()


@pytest.mark.slow
def test_run_resumes_without_the_folder_of_its_initial_model(
    initial_run: Path, corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    node = warm_start_recipe(initial_run, corpus, RISK)
    assert train(node, tmp_path / "uninterrupted") == "done"
    interrupt_after(monkeypatch, 2)
    assert train(node, tmp_path / "interrupted") == "interrupted"
    shutil.rmtree(initial_run)
    assert resume_run(tmp_path / "interrupted")[0] == "done"
    interrupted, uninterrupted = run_contents(tmp_path / "interrupted"), run_contents(tmp_path / "uninterrupted")
    for name in ("best/weights.safetensors", "last/weights.safetensors", "log.jsonl"):
        assert interrupted[name] == uninterrupted[name]
    assert {"nll", "accuracy", "risk"} <= uninterrupted["log.jsonl"][0].keys()


@pytest.mark.parametrize(
    "objective",
    [{"type": "word-loss"}, {"type": "coverage"}, {"type": "distillation", "temperature": 2.0}],
    ids=lambda objective: str(objective["type"]),
)
def test_every_objective_trains(objective: dict[str, Any], initial_run: Path, corpus: Path, tmp_path: Path) -> None:
    teacher = {"teacher": str(initial_run)} if objective["type"] == "distillation" else {}
    node = warm_start_recipe(initial_run, corpus, {**objective, **teacher})
    assert train(node, tmp_path / "run") == "done"
    losses = [record["loss"] for record in run_contents(tmp_path / "run")["log.jsonl"] if "loss" in record]
    assert all(0 < loss < 20 for loss in losses)
    if teacher:
        student = load_file(tmp_path / "run" / "last" / "weights.safetensors")
        assert student.keys() == load_file(initial_run / "last" / "weights.safetensors").keys()


def test_run_with_a_changed_teacher_is_not_resumed(
    initial_run: Path, corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    node = warm_start_recipe(initial_run, corpus, {"type": "distillation", "teacher": str(tmp_path / "teacher")})
    shutil.copytree(initial_run, tmp_path / "teacher")
    interrupt_after(monkeypatch, 2)
    assert train(node, tmp_path / "run") == "interrupted"
    shutil.rmtree(tmp_path / "teacher")
    longer = toys.recipe(corpus, "bahdanau", steps=5)
    assert train(longer, tmp_path / "teacher") == "done"
    with pytest.raises(UserError) as caught:
        resume_run(tmp_path / "run")
    assert str(caught.value).startswith(f"the files of objective.teacher have changed since the run in {tmp_path}/run")
    shutil.rmtree(tmp_path / "teacher")
    shutil.copytree(initial_run, tmp_path / "teacher")
    assert resume_run(tmp_path / "run")[0] == "done"


def test_minimum_risk_without_initial_model_is_refused(corpus: Path, tmp_path: Path) -> None:
    node = {**toys.recipe(corpus, "bahdanau", steps=1), "objective": RISK}
    with pytest.raises(
        UserError, match=r"train.initial_model: is missing: minimum risk training samples from the model"
    ):
        train(node, tmp_path / "run")
    assert train({**node, "objective": {**RISK, "cross_entropy_weight": 0.5}}, tmp_path / "run") == "done"
