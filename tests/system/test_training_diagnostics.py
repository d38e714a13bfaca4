"""Training diagnostics: runs that provoke each diagnosis, and normal runs that have none."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from safetensors.torch import load_file

from system import toys
from system.training_runs import RecordingDisplay, interrupt_after, resume_run, run_contents, train
from weft.core.errors import UserError
from weft.training import trainer
from weft.training.train_step import NonFiniteError, train_step
from weft.training.training_run import start_training


def logged_diagnoses(run: Path) -> dict[str, dict[str, Any]]:
    """Return the diagnoses of a run's log by name; each occurs once."""
    records = [json.loads(line) for line in (run / "log.jsonl").read_text("utf-8").splitlines()]
    diagnoses = [record for record in records if "diagnosis" in record]
    by_name = {record["diagnosis"]: record for record in diagnoses}
    assert len(by_name) == len(diagnoses)
    return by_name


def train_and_diagnose(node: dict[str, Any], run: Path) -> set[str]:
    """Train and return the names of the diagnoses, which must be the same on screen and in the log."""
    display = RecordingDisplay()
    assert start_training(node, run, display) == "done"
    messages = [line for line in display.messages if line.startswith("diagnosis: ")]
    assert messages == [
        f"diagnosis: {record['observation']}.\n  likely cause: {record['cause']}\n  what to change: {record['advice']}"
        for record in logged_diagnoses(run).values()
    ]
    return set(logged_diagnoses(run))


def test_normal_runs_have_no_diagnosis(runs: dict[str, Path], language_model: Path) -> None:
    for run in (*runs.values(), language_model):
        assert logged_diagnoses(run) == {}


def test_high_learning_rate(corpus: Path, tmp_path: Path) -> None:
    node = toys.recipe(corpus, steps=20)
    node["train"] |= {"schedule": {"learning_rate": 2.0, "warmup_steps": 1}, "log_every": 2}
    assert "high-learning-rate" in train_and_diagnose(node, tmp_path / "run")


@pytest.mark.parametrize("clip", [0.001, pytest.param(None, marks=pytest.mark.slow)])
def test_exploding_gradient(clip: float | None, corpus: Path, tmp_path: Path) -> None:
    """The norm is far above the clipping threshold or, without clipping, far above its earlier values."""
    node = toys.recipe(corpus, "bahdanau", steps=24)
    node["train"] |= {"clip_norm": clip, "log_every": 2, "average": None}
    if clip is None:
        node["train"] |= {"schedule": {"learning_rate": 1.0, "warmup_steps": 12}}
    assert "exploding-gradient" in train_and_diagnose(node, tmp_path / "run")


def test_overfitting(tmp_path: Path) -> None:
    """Eight pairs are memorized quickly."""
    toys.write_corpus(tmp_path)
    for name in toys.files("train"):
        lines = (tmp_path / name).read_text("utf-8").splitlines(keepends=True)
        (tmp_path / name).write_text("".join(lines[:8]), "utf-8")
    node = toys.learning_recipe(tmp_path, "transformer")
    node["text"] = {"source": {"type": "character", "byte_fallback": True}}
    node["model"] = json.loads(json.dumps(node["model"]).replace('"dropout": 0.1', '"dropout": 0.0'))
    node["train"] |= {
        "steps": 120,
        "log_every": 10,
        "average": None,
        "schedule": {"learning_rate": 0.02, "warmup_steps": 10},
    }
    node["train"]["validation"] = {"every": 10, "lines": 0, "metrics": [], "best_metric": "loss"}
    assert "overfitting" in train_and_diagnose(node, tmp_path / "run")


def recipe_with_targets(folder: Path, change: Callable[[str, str], str]) -> dict[str, Any]:
    """Write a corpus with changed training targets and unchanged validation targets; return its recipe."""
    toys.write_corpus(folder)
    sources, targets = ((folder / name).read_text("utf-8").splitlines() for name in toys.files("train"))
    lines = [change(source, target) for source, target in zip(sources, targets, strict=True)]
    (folder / "train.tgt").write_text("".join(f"{line}\n" for line in lines), "utf-8")
    node = toys.learning_recipe(folder, "bahdanau")
    node["train"] |= {"steps": 60, "validation": {"every": 20, "lines": 10, "search": "greedy"}}
    return node


def test_repetition(tmp_path: Path) -> None:
    node = recipe_with_targets(tmp_path, lambda _, target: " ".join([target.split()[0]] * 8))
    assert "repetition" in train_and_diagnose(node, tmp_path / "run")


def test_copying(tmp_path: Path) -> None:
    node = recipe_with_targets(tmp_path, lambda source, _: " ".join(source.split()[:2]))
    assert "copying" in train_and_diagnose(node, tmp_path / "run")


@pytest.mark.parametrize(
    ("text", "observation"),
    [
        ({"source": {"type": "word", "vocab_size": 6}}, "tokens of train are unknown"),
        ({"source": {"type": "bpe", "vocab_size": 262}}, "tokens of train are single bytes"),
        ({"source": {"type": "bpe", "vocab_size": 26, "byte_fallback": False}}, "letter by letter"),
    ],
    ids=["unknown", "bytes", "letters"],
)
def test_unsuitable_vocabulary(text: dict[str, Any], observation: str, corpus: Path, tmp_path: Path) -> None:
    """Reported before the first step."""
    node = {**toys.recipe(corpus, steps=1), "text": text}
    node["data"]["max_length"] = 100
    assert train_and_diagnose(node, tmp_path / "run") == {"source-vocabulary", "target-vocabulary"}
    for record in logged_diagnoses(tmp_path / "run").values():
        assert observation in record["observation"]
        assert record["step"] == 0
    resume_run(tmp_path / "run")
    logged_diagnoses(tmp_path / "run")


def test_too_little_data(tmp_path: Path) -> None:
    """Reported before the first step; a run that starts from a trained model needs less."""
    toys.write_corpus(tmp_path)
    for side in ("src", "tgt"):
        lines = (tmp_path / f"train.{side}").read_text("utf-8").splitlines()[:100]
        (tmp_path / f"train.{side}").write_text("\n".join(lines) + "\n", "utf-8")
    node = toys.recipe(tmp_path, steps=1)
    assert "too-little-data" in train_and_diagnose(node, tmp_path / "run")
    record = logged_diagnoses(tmp_path / "run")["too-little-data"]
    assert record["step"] == 0
    assert "weft finetune" in record["advice"]
    node["train"]["initial_model"] = str(tmp_path / "run")
    assert "too-little-data" not in train_and_diagnose(node, tmp_path / "warm")


def test_interrupted_run_has_the_same_diagnoses(corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    node = toys.recipe(corpus, steps=16)
    node["train"] |= {"schedule": {"learning_rate": 2.0, "warmup_steps": 1}, "log_every": 2}
    node["text"] = {"source": {"type": "word", "vocab_size": 6}}
    assert train(node, tmp_path / "uninterrupted") == "done"
    assert {"high-learning-rate", "source-vocabulary"} <= logged_diagnoses(tmp_path / "uninterrupted").keys()
    interrupt_after(monkeypatch, 5)  # before the diagnosis
    assert train(node, tmp_path / "interrupted") == "interrupted"
    interrupt_after(monkeypatch, 8)  # after the diagnosis
    assert resume_run(tmp_path / "interrupted")[0] == "interrupted"
    assert resume_run(tmp_path / "interrupted")[0] == "done"
    assert run_contents(tmp_path / "interrupted")["log.jsonl"] == run_contents(tmp_path / "uninterrupted")["log.jsonl"]


def test_last_finite_weights_are_kept_after_non_finite_loss(
    corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def failing_step(*arguments: Any, **options: Any) -> Any:
        if options["step"] == 6:
            raise NonFiniteError
        return train_step(*arguments, **options)

    monkeypatch.setattr(trainer, "train_step", failing_step)
    with pytest.raises(UserError, match="step 6: the loss or its gradient is no longer a finite number"):
        train(toys.recipe(corpus), tmp_path / "run")
    assert logged_diagnoses(tmp_path / "run").keys() == {"non-finite"}
    assert (tmp_path / "run" / "checkpoints" / "step-00000005").is_dir()
    monkeypatch.setattr(trainer, "train_step", train_step)
    assert resume_run(tmp_path / "run")[0] == "done"
    assert logged_diagnoses(tmp_path / "run") == {}


def test_non_finite_weights_are_not_saved(corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A finite update breaks the weights; the checkpoint and the models stay those of the step before."""

    def failing_step(*arguments: Any, **options: Any) -> Any:
        sums = train_step(*arguments, **options)
        if options["step"] == 6:
            next(arguments[0].model.parameters()).data.fill_(float("nan"))
        return sums

    monkeypatch.setattr(trainer, "train_step", failing_step)
    node = toys.recipe(corpus)
    node["train"] |= {
        "checkpoint_steps": 1,
        "validation": {"every": 1, "lines": 0, "metrics": [], "best_metric": "loss"},
    }
    with pytest.raises(UserError, match="no longer a finite number"):
        train(node, tmp_path / "run")
    assert (tmp_path / "run" / "checkpoints" / "step-00000005").is_dir()
    for file in tmp_path.glob("run/**/*.safetensors"):
        assert all(tensor.isfinite().all() for tensor in load_file(file).values()), file
    assert json.loads((tmp_path / "run" / "last" / "metrics.json").read_text("utf-8"))["step"] == 5
