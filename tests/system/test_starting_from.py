"""A run that begins with the weights of another, and goes on by another objective."""

import shutil
from pathlib import Path
from typing import Any

import pytest
from safetensors.torch import load_file

from system import toys
from system.following import go_on, interrupt_after, left_behind, train
from weft.core.errors import UserError

RISK = {"type": "minimum-risk", "samples": 3, "cost": "chrf", "alpha": 1.0, "max_length_extra": 2}


@pytest.fixture
def first(corpus: Path, tmp_path: Path) -> Path:
    """A run folder, trained by cross-entropy."""
    assert train(toys.recipe(corpus, "bahdanau", steps=4), tmp_path / "first") == "done"
    return tmp_path / "first"


def after(first: Path, corpus: Path, objective: dict[str, Any]) -> dict[str, Any]:
    """A recipe that goes on from there."""
    node = toys.recipe(corpus, "bahdanau", steps=4)
    node["train"] |= {
        "initial_model": str(first),
        "seed": 2,
        "checkpoint_steps": 100,
        "validation": {"every": 4, "lines": 2},
    }
    return {**node, "objective": objective}


def test_it_has_the_weights_and_the_tokenizers(
    first: Path, corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    interrupt_after(monkeypatch, 1)
    assert train(after(first, corpus, RISK), tmp_path / "run") == "interrupted"
    best = load_file(first / "best" / "weights.safetensors")
    begun = load_file(tmp_path / "run" / "checkpoints" / "step-00000000" / "weights.safetensors")
    moved = load_file(tmp_path / "run" / "checkpoints" / "step-00000001" / "weights.safetensors")
    assert begun.keys() == best.keys()
    assert all(begun[name].equal(best[name]) for name in best)
    assert not any(moved[name].equal(best[name]) for name in best)
    for tokenizer in first.glob("*.tokenizer.json"):
        assert (tmp_path / "run" / tokenizer.name).read_bytes() == tokenizer.read_bytes()


@pytest.mark.slow
def test_a_stopped_run_goes_on_without_the_folder_that_it_began_with(
    first: Path, corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    node = after(first, corpus, RISK)
    assert train(node, tmp_path / "straight") == "done"
    interrupt_after(monkeypatch, 2)
    assert train(node, tmp_path / "stopped") == "interrupted"
    shutil.rmtree(first)
    assert go_on(tmp_path / "stopped")[0] == "done"
    stopped, straight = left_behind(tmp_path / "stopped"), left_behind(tmp_path / "straight")
    for name in ("best/weights.safetensors", "last/weights.safetensors", "log.jsonl"):
        assert stopped[name] == straight[name]
    assert {"nll", "accuracy", "risk"} <= straight["log.jsonl"][0].keys()


@pytest.mark.parametrize(
    "objective",
    [{"type": "word-loss"}, {"type": "coverage"}, {"type": "distillation", "temperature": 2.0}],
    ids=lambda objective: str(objective["type"]),
)
def test_every_objective_trains(objective: dict[str, Any], first: Path, corpus: Path, tmp_path: Path) -> None:
    teacher = {"teacher": str(first)} if objective["type"] == "distillation" else {}
    node = after(first, corpus, {**objective, **teacher})
    assert train(node, tmp_path / "run") == "done"
    losses = [record["loss"] for record in left_behind(tmp_path / "run")["log.jsonl"] if "loss" in record]
    assert all(0 < loss < 20 for loss in losses)
    if teacher:
        taught = load_file(tmp_path / "run" / "last" / "weights.safetensors")
        assert taught.keys() == load_file(first / "last" / "weights.safetensors").keys()


def test_a_run_goes_on_only_with_the_teacher_that_it_began_with(
    first: Path, corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    node = after(first, corpus, {"type": "distillation", "teacher": str(tmp_path / "teacher")})
    shutil.copytree(first, tmp_path / "teacher")
    interrupt_after(monkeypatch, 2)
    assert train(node, tmp_path / "run") == "interrupted"
    shutil.rmtree(tmp_path / "teacher")
    longer = toys.recipe(corpus, "bahdanau", steps=5)
    assert train(longer, tmp_path / "teacher") == "done"
    with pytest.raises(UserError) as caught:
        go_on(tmp_path / "run")
    assert str(caught.value).startswith(f"the files of objective.teacher have changed since the run in {tmp_path}/run")
    shutil.rmtree(tmp_path / "teacher")
    shutil.copytree(first, tmp_path / "teacher")
    assert go_on(tmp_path / "run")[0] == "done"


def test_minimum_risk_is_for_a_model_that_has_learned_something(corpus: Path, tmp_path: Path) -> None:
    node = {**toys.recipe(corpus, "bahdanau", steps=1), "objective": RISK}
    with pytest.raises(
        UserError, match=r"train.initial_model: is missing: minimum risk training samples from the model"
    ):
        train(node, tmp_path / "run")
    assert train({**node, "objective": {**RISK, "cross_entropy_weight": 0.5}}, tmp_path / "run") == "done"
