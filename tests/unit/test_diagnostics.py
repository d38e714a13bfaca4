"""Training diagnostics: each one as a function of the log."""

import json
from pathlib import Path
from typing import Any

import pytest

from weft.checkpoints.run_log import TrainingHistory, read_history
from weft.config.recipe import TrainingConfig, ValidationConfig
from weft.metrics.scores import Segments
from weft.training.diagnostics import (
    diagnose_copying,
    diagnose_exploding_gradient,
    diagnose_high_learning_rate,
    diagnose_overfitting,
    diagnose_repetition,
    output_statistics,
    run_diagnostics,
)

TRAIN = TrainingConfig(validation=ValidationConfig(best_metric="bleu"))


def make_history(losses: list[float], norms: list[float] | None = None) -> TrainingHistory:
    history = TrainingHistory()
    for number, loss in enumerate(losses):
        norm = 1.0 if norms is None else norms[number]
        history.add({"step": 50 * number + 1, "loss": loss, "gradient_norm": norm, "learning_rate": 1e-3})
    return history


@pytest.mark.parametrize(
    ("losses", "wrong"),
    [
        ([9.0, 7.0, 6.0, 5.0, 4.0], False),
        ([9.0, 10.5, 11.0, 12.0], True),
        ([9.0, 10.5, 8.0, 12.0], False),  # not in a row
        ([9.0, 7.0, 4.0, 7.0, 7.5, 7.0], True),  # rises back and stays high
        ([9.0, 7.0, 4.0, 7.0, 7.5, 4.1], False),  # a spike
        ([9.0, 7.0, 4.0, 4.1, 4.2, 4.1], False),  # noise
        ([2.0, 1.9, 1.95, 1.98, 1.99, 1.97], False),  # started from a trained model
        ([9.0, 4.0, *[4.0 + 0.1 * step for step in range(30)]], False),  # slowly
        ([-1.0, -2.0, -3.0, -3.1, -3.0], False),
    ],
)
def test_high_learning_rate(losses: list[float], wrong: bool) -> None:
    found = diagnose_high_learning_rate(make_history(losses), TRAIN)
    assert (found is not None) == wrong
    if found is not None:
        assert "train.schedule.learning_rate" in found.advice
        assert "0.001" in found.cause


@pytest.mark.parametrize(
    ("norms", "clip", "wrong"),
    [
        ([60.0, 70.0, 80.0], 1.0, True),
        ([60.0, 7.0, 80.0], 1.0, False),
        ([60.0, 70.0, 80.0], 5.0, False),
        ([1.0, 1.0, 2.0, 300.0], None, True),
        ([1.0, 1.0, 2.0, 90.0], None, False),
        ([1.0, 1.0, 2.0, 300.0], 10.0, False),
        ([1.0, 300.0], None, False),
    ],
)
def test_exploding_gradient(norms: list[float], clip: float | None, wrong: bool) -> None:
    found = diagnose_exploding_gradient(make_history([1.0] * len(norms), norms), TrainingConfig(clip_norm=clip))
    assert (found is not None) == wrong
    if found is not None:
        assert ("train.clip_norm=1" in found.advice) == (clip is None)


def validated_history(losses: list[float], scores: list[float], trained: list[float]) -> TrainingHistory:
    history = TrainingHistory()
    for number, (loss, score, training) in enumerate(zip(losses, scores, trained, strict=True), 1):
        history.add({"step": 100 * number, "loss": training, "gradient_norm": 1.0})
        history.add({"step": 100 * number, "validation": {"loss": loss, "bleu": score}})
    return history


@pytest.mark.parametrize(
    ("losses", "scores", "trained", "wrong"),
    [
        ([3.0, 2.9, 3.0, 3.1, 3.2], [20, 21, 20, 20, 20], [3.0, 2.9, 2.8, 2.7, 2.6], True),
        ([3.0, 2.9, 3.0, 3.1, 3.2], [20, 21, 20, 20, 22], [3.0, 2.9, 2.8, 2.7, 2.6], False),  # outputs improve
        ([3.0, 2.9, 3.0, 2.95, 3.2], [20, 21, 20, 20, 20], [3.0, 2.9, 2.8, 2.7, 2.6], False),  # not in a row
        ([3.0, 2.9, 2.91, 2.92, 2.93], [20, 21, 20, 20, 20], [3.0, 2.9, 2.8, 2.7, 2.6], False),  # hardly
        ([3.0, 2.9, 3.0, 3.1, 3.2], [20, 21, 20, 20, 20], [3.0, 2.9, 3.0, 3.1, 3.2], False),  # both
        ([3.0, 3.1, 3.2], [20, 20, 20], [3.0, 2.9, 2.8], False),  # too few
    ],
)
def test_overfitting(losses: list[float], scores: list[float], trained: list[float], wrong: bool) -> None:
    assert (diagnose_overfitting(validated_history(losses, scores, trained), TRAIN) is not None) == wrong


def output_history(*shares: dict[str, float]) -> TrainingHistory:
    history = TrainingHistory()
    for number, share in enumerate(shares):
        statistics = {"repetition": 0.0, "repetition_of_references": 0.0, "copy": 0.0, **share}
        history.add({"step": number, "validation": {"loss": 1.0, "output_statistics": statistics}})
    return history


def test_repetition() -> None:
    def found(*shares: float, references: float = 1.0) -> bool:
        rows: list[dict[str, Any]] = [{"repetition": share, "repetition_of_references": references} for share in shares]
        return diagnose_repetition(output_history(*rows), TRAIN) is not None

    assert found(40, 40, 35)
    assert found(80, 90, 40, 40, 35)
    assert not found(40, 30, 20)  # decreasing
    assert not found(40, 40)
    assert not found(40, 40, 5)
    assert not found(40, 40, 40, references=38)


def test_copying() -> None:
    def found(*shares: float) -> bool:
        return diagnose_copying(output_history(*({"copy": share} for share in shares)), TRAIN) is not None

    assert found(90, 80, 85)
    assert not found(90, 60, 40)
    assert not found(20, 20, 20)


def test_output_statistics() -> None:
    lines = Segments(["a dog a dog a dog", "the cat"], [["ein Hund"], ["la la la"]], ["a dog", "the cat"])
    statistics = output_statistics(lines)
    assert statistics["repetition"] == pytest.approx(100 * 3 / 6)
    assert statistics["repetition_of_references"] == pytest.approx(100 * 1 / 3)
    assert statistics["copy"] == 100.0


def test_finding_is_reported_once_even_after_reading_the_log_again(tmp_path: Path) -> None:
    history = make_history([9.0, 10.5, 11.0, 12.0])
    (finding,) = run_diagnostics(history, TRAIN)
    assert finding.diagnosis == "high-learning-rate"
    record = finding.record(151)
    assert record.keys() == {"step", "diagnosis", "observation", "cause", "advice"}
    log = tmp_path / "log.jsonl"
    log.write_text("".join(json.dumps(line) + "\n" for line in [*history.reports, record]), "utf-8")
    restored = read_history(log)
    assert restored.reports == history.reports
    assert list(run_diagnostics(restored, TRAIN)) == []
    assert read_history(tmp_path / "none") == TrainingHistory()
