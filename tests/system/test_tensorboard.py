"""TensorBoard event files have the same values as the log."""

import shutil
from contextlib import closing
from pathlib import Path

import pytest
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

from system import toys
from system.training_runs import interrupt_after, resume_run, run_contents, train
from unit.run_folders import finding
from weft.checkpoints.run_log import CurvePoints, curve_points, read_history
from weft.core import extras
from weft.core.errors import UserError
from weft.training import log_writer


def event_curves(run: Path) -> dict[str, CurvePoints]:
    """Return the curves that TensorBoard reads."""
    events = EventAccumulator(str(run / "tensorboard"))
    events.Reload()
    return {name: [(event.step, event.value) for event in events.Scalars(name)] for name in events.Tags()["scalars"]}


def log_curves(run: Path) -> dict[str, CurvePoints]:
    """Return the same curves from the log."""
    history = read_history(run / "log.jsonl")
    names = {
        "training": ("loss", "learning_rate", "gradient_norm", "tokens_per_second"),
        "validation": ("loss", "bleu", "chrf"),
    }
    groups = {"training": history.reports, "validation": history.validations}
    return {f"{group}/{name}": curve_points(groups[group], name) for group in groups for name in names[group]}


def test_resumed_run_has_each_point_once(corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Interrupted after step 14 with only the checkpoint of step 10: steps 11 to 14 are logged again."""
    run, node = tmp_path / "run", toys.recipe(corpus)
    node["train"]["tensorboard"] = True
    interrupt_after(monkeypatch, 14)
    assert train(node, run) == "interrupted"
    assert {name: curve for name, curve in event_curves(run).items() if name in log_curves(run)} == approximately(
        log_curves(run)
    )
    shutil.rmtree(run / "checkpoints" / "step-00000014")
    assert resume_run(run)[0] == "done"
    curves = event_curves(run)
    assert [step for step, _ in curves["training/loss"]] == [1, 3, 6, 9, 12, 15, 18, 21, 24]
    assert {name: curve for name, curve in curves.items() if name in log_curves(run)} == approximately(log_curves(run))
    events = EventAccumulator(str(run / "tensorboard"))
    events.Reload()
    (first, *_) = events.Tensors("translations/1/text_summary")
    example = read_history(run / "log.jsonl").validations[0]["examples"][0]
    assert f"    {example['source']}\n    {example['target']}\n" in first.tensor_proto.string_val[0].decode()


def approximately(curves: dict[str, CurvePoints]) -> dict[str, list[tuple[int, object]]]:
    """Events are float32."""
    return {name: [(step, pytest.approx(value, rel=1e-5)) for step, value in curve] for name, curve in curves.items()}


def test_events_enabled_later_start_with_the_logged_values(
    corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    interrupt_after(monkeypatch, 7)
    train(toys.recipe(corpus, steps=9), tmp_path / "run")
    assert not any("tensorboard/" in name for name in run_contents(tmp_path / "run"))
    config = tmp_path / "run" / "config.yaml"
    config.write_text(config.read_text("utf-8").replace("tensorboard: false", "tensorboard: true"))
    assert resume_run(tmp_path / "run")[0] == "done"
    assert [step for step, _ in event_curves(tmp_path / "run")["training/loss"]] == [1, 3, 6, 9]


def test_diagnoses_are_written_as_text(tmp_path: Path) -> None:
    with closing(log_writer.TensorBoardWriter(tmp_path / "tensorboard", tmp_path / "log.jsonl", 0)) as writer:
        writer.write(finding(3))
    events = EventAccumulator(str(tmp_path / "tensorboard"))
    events.Reload()
    (text,) = events.Tensors("diagnosis/overfitting/text_summary")
    assert text.tensor_proto.string_val[0].decode().split("\n") == [
        "    the loss rose",
        "    too little data",
        "    a higher dropout",
    ]


def test_missing_package_is_reported_before_training(
    corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(extras, "find_spec", lambda _: None)
    node = toys.recipe(corpus)
    node["train"]["tensorboard"] = True
    with pytest.raises(UserError, match=r"train.tensorboard: true needs .* pip install 'weft\[tensorboard\]'"):
        train(node, tmp_path / "run")
    assert not (tmp_path / "run").exists()
