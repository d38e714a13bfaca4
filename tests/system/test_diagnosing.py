"""Every diagnosis, provoked on purpose by a run; and runs in which nothing is wrong, of which nothing is said."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from safetensors.torch import load_file

from system import toys
from system.following import Quiet, go_on, interrupt_after, left_behind, train
from weft.core.errors import UserError
from weft.training import trainer
from weft.training.train_step import NonFiniteError, train_step
from weft.training.training_run import start_training


def found(run: Path) -> dict[str, dict[str, Any]]:
    """What was diagnosed, by name; each once."""
    records = [json.loads(line) for line in (run / "log.jsonl").read_text("utf-8").splitlines()]
    told = [record for record in records if "diagnosis" in record]
    named = {record["diagnosis"]: record for record in told}
    assert len(named) == len(told)
    return named


def diagnosed(node: dict[str, Any], run: Path) -> set[str]:
    """What a run is told to have; a person reads the same as the log."""
    display = Quiet()
    assert start_training(node, run, display) == "done"
    told = [line for line in display.said if line.startswith("diagnosis: ")]
    assert told == [
        f"diagnosis: {one['observation']}.\n  likely cause: {one['cause']}\n  what to change: {one['advice']}"
        for one in found(run).values()
    ]
    return set(found(run))


def test_of_ordinary_runs_nothing_is_said(runs: dict[str, Path], language_model: Path) -> None:
    for run in (*runs.values(), language_model):
        assert found(run) == {}


def test_a_rate_too_high(corpus: Path, tmp_path: Path) -> None:
    node = toys.recipe(corpus, steps=20)
    node["train"] |= {"schedule": {"learning_rate": 2.0, "warmup_steps": 1}, "log_every": 2}
    assert "high-learning-rate" in diagnosed(node, tmp_path / "run")


@pytest.mark.parametrize("clip", [0.001, pytest.param(None, marks=pytest.mark.slow)])
def test_an_exploding_gradient(clip: float | None, corpus: Path, tmp_path: Path) -> None:
    """Far longer than what is let through; or, where all is, than it was."""
    node = toys.recipe(corpus, "bahdanau", steps=24)
    node["train"] |= {"clip_norm": clip, "log_every": 2, "average": None}
    if clip is None:
        node["train"] |= {"schedule": {"learning_rate": 1.0, "warmup_steps": 12}}
    assert "exploding-gradient" in diagnosed(node, tmp_path / "run")


def test_validation_that_drifts(tmp_path: Path) -> None:
    """Eight pairs are soon known by heart."""
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
    assert "overfitting" in diagnosed(node, tmp_path / "run")


def with_targets(folder: Path, change: Callable[[str, str], str]) -> dict[str, Any]:
    """A recipe for pairs of which those to learn have other targets than those to validate on."""
    toys.write_corpus(folder)
    sources, targets = ((folder / name).read_text("utf-8").splitlines() for name in toys.files("train"))
    lines = [change(source, target) for source, target in zip(sources, targets, strict=True)]
    (folder / "train.tgt").write_text("".join(f"{line}\n" for line in lines), "utf-8")
    node = toys.learning_recipe(folder, "bahdanau")
    node["train"] |= {"steps": 60, "validation": {"every": 20, "lines": 10, "search": "greedy"}}
    return node


def test_a_model_that_repeats(tmp_path: Path) -> None:
    node = with_targets(tmp_path, lambda _, target: " ".join([target.split()[0]] * 8))
    assert "repetition" in diagnosed(node, tmp_path / "run")


def test_a_model_that_copies(tmp_path: Path) -> None:
    node = with_targets(tmp_path, lambda source, _: " ".join(source.split()[:2]))
    assert "copying" in diagnosed(node, tmp_path / "run")


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ({"source": {"type": "word", "vocab_size": 6}}, "tokens of train are unknown"),
        ({"source": {"type": "bpe", "vocab_size": 262}}, "tokens of train are single bytes"),
        ({"source": {"type": "bpe", "vocab_size": 26, "byte_fallback": False}}, "letter by letter"),
    ],
    ids=["unknown", "bytes", "letters"],
)
def test_a_vocabulary_that_does_not_fit(text: dict[str, Any], told: str, corpus: Path, tmp_path: Path) -> None:
    """Told before the first step."""
    node = {**toys.recipe(corpus, steps=1), "text": text}
    node["data"]["max_length"] = 100
    assert diagnosed(node, tmp_path / "run") == {"source-vocabulary", "target-vocabulary"}
    for record in found(tmp_path / "run").values():
        assert told in record["observation"]
        assert record["step"] == 0
    go_on(tmp_path / "run")
    found(tmp_path / "run")


def test_a_stopped_run_finds_what_it_would_have_found(
    corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    node = toys.recipe(corpus, steps=16)
    node["train"] |= {"schedule": {"learning_rate": 2.0, "warmup_steps": 1}, "log_every": 2}
    node["text"] = {"source": {"type": "word", "vocab_size": 6}}
    assert train(node, tmp_path / "straight") == "done"
    assert {"high-learning-rate", "source-vocabulary"} <= found(tmp_path / "straight").keys()
    interrupt_after(monkeypatch, 5)  # before it is told
    assert train(node, tmp_path / "stopped") == "interrupted"
    interrupt_after(monkeypatch, 8)  # and after
    assert go_on(tmp_path / "stopped")[0] == "interrupted"
    assert go_on(tmp_path / "stopped")[0] == "done"
    assert left_behind(tmp_path / "stopped")["log.jsonl"] == left_behind(tmp_path / "straight")["log.jsonl"]


def test_the_last_good_weights_are_kept_when_a_loss_is_not_finite(
    corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def breaking(*arguments: Any, **named: Any) -> Any:
        if named["step"] == 6:
            raise NonFiniteError
        return train_step(*arguments, **named)

    monkeypatch.setattr(trainer, "train_step", breaking)
    with pytest.raises(UserError, match="step 6: the loss or its gradient is no longer a finite number"):
        train(toys.recipe(corpus), tmp_path / "run")
    assert found(tmp_path / "run").keys() == {"non-finite"}
    assert (tmp_path / "run" / "checkpoints" / "step-00000005").is_dir()
    monkeypatch.setattr(trainer, "train_step", train_step)
    assert go_on(tmp_path / "run")[0] == "done"
    assert found(tmp_path / "run") == {}


def test_broken_weights_replace_nothing(corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An update that is finite breaks them; checkpoint and models stay those of before."""

    def breaking(*arguments: Any, **named: Any) -> Any:
        sums = train_step(*arguments, **named)
        if named["step"] == 6:
            next(arguments[0].model.parameters()).data.fill_(float("nan"))
        return sums

    monkeypatch.setattr(trainer, "train_step", breaking)
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
