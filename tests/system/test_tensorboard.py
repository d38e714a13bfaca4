"""Event files for TensorBoard, read by its own reader: they tell what the log tells."""

import shutil
from pathlib import Path

import pytest
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

from system import toys
from system.following import go_on, interrupt_after, left_behind, train
from weft.checkpoints.run_log import CurvePoints, curve_points, read_history
from weft.core.errors import UserError
from weft.training import log_writer


def shown(run: Path) -> dict[str, CurvePoints]:
    """Each curve as TensorBoard has it."""
    events = EventAccumulator(str(run / "tensorboard"))
    events.Reload()
    return {name: [(one.step, one.value) for one in events.Scalars(name)] for name in events.Tags()["scalars"]}


def told(run: Path) -> dict[str, CurvePoints]:
    """The same as the log has it."""
    history = read_history(run / "log.jsonl")
    names = {
        "training": ("loss", "learning_rate", "gradient_norm", "tokens_per_second"),
        "validation": ("loss", "bleu", "chrf"),
    }
    groups = {"training": history.reports, "validation": history.validations}
    return {f"{group}/{name}": curve_points(groups[group], name) for group in groups for name in names[group]}


def test_a_run_that_was_stopped_has_each_point_once(
    corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Killed after step 14, with a checkpoint of step 10 alone; what came after that comes again."""
    run, node = tmp_path / "run", toys.recipe(corpus)
    node["train"]["tensorboard"] = True
    interrupt_after(monkeypatch, 14)
    assert train(node, run) == "interrupted"
    assert {name: curve for name, curve in shown(run).items() if name in told(run)} == approximately(told(run))
    shutil.rmtree(run / "checkpoints" / "step-00000014")
    assert go_on(run)[0] == "done"
    curves = shown(run)
    assert [step for step, _ in curves["training/loss"]] == [1, 3, 6, 9, 12, 15, 18, 21, 24]
    assert {name: curve for name, curve in curves.items() if name in told(run)} == approximately(told(run))
    events = EventAccumulator(str(run / "tensorboard"))
    events.Reload()
    (first, *_) = events.Tensors("translations/1/text_summary")
    example = read_history(run / "log.jsonl").validations[0]["examples"][0]
    assert f"    {example['source']}\n    {example['target']}\n" in first.tensor_proto.string_val[0].decode()


def approximately(curves: dict[str, CurvePoints]) -> dict[str, list[tuple[int, object]]]:
    """Events have numbers of 32 bits."""
    return {name: [(step, pytest.approx(value, rel=1e-5)) for step, value in curve] for name, curve in curves.items()}


def test_events_that_are_wanted_later_begin_with_the_log(
    corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    interrupt_after(monkeypatch, 7)
    train(toys.recipe(corpus, steps=9), tmp_path / "run")
    assert not any("tensorboard/" in name for name in left_behind(tmp_path / "run"))
    config = tmp_path / "run" / "config.yaml"
    config.write_text(config.read_text("utf-8").replace("tensorboard: false", "tensorboard: true"))
    assert go_on(tmp_path / "run")[0] == "done"
    assert [step for step, _ in shown(tmp_path / "run")["training/loss"]] == [1, 3, 6, 9]


def test_without_its_package_nothing_begins(corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(log_writer, "find_spec", lambda _: None)
    node = toys.recipe(corpus)
    node["train"]["tensorboard"] = True
    with pytest.raises(UserError, match=r"train.tensorboard: true, but .* pip install 'weft\[tensorboard\]'"):
        train(node, tmp_path / "run")
    assert not (tmp_path / "run").exists()
