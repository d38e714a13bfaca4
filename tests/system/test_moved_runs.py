"""Runs are used from other working folders, and after they, or they and their data, were moved."""

import json
import shutil
from pathlib import Path

import pytest

from system import toys
from system.training_runs import RecordingDisplay, run_contents
from weft.checkpoints.run_origin import ORIGIN_FILE
from weft.training.distillation import load_located_recipe
from weft.training.finetuning_recipe import load_original_data
from weft.training.training_run import resume_training, start_training
from weft.visualize.run_evaluation import ReportOptions, collect_report_data
from weft.visualize.run_summary import read_run_summary

RUN = Path("runs/first")


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with data and a run of three steps, started there with relative names."""
    folder = tmp_path / "project"
    (folder / "data").mkdir(parents=True)
    toys.write_corpus(folder / "data")
    monkeypatch.chdir(folder)
    node = toys.recipe(Path("data"), steps=3)
    start_training(node, RUN, RecordingDisplay())
    return folder


def extend(run: Path) -> None:
    """Let the run have three more steps."""
    config = run / "config.yaml"
    config.write_text(config.read_text("utf-8").replace("steps: 3\n", "steps: 6\n"), "utf-8")


def check_usable(run: Path) -> None:
    """Resume, report, and open the data as fine-tuning does."""
    extend(run)
    assert resume_training(run, RecordingDisplay()) == "done"
    assert collect_report_data(read_run_summary(run), ReportOptions(max_lines=3, sentences=1)).translation is not None
    assert load_original_data(run, load_located_recipe(run)).warning is None


def test_resume_elsewhere_equals_resume_here(project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shutil.copytree(RUN, tmp_path / "copy")
    extend(RUN)
    assert resume_training(RUN, RecordingDisplay()) == "done"
    here = run_contents(project / RUN)
    monkeypatch.chdir(tmp_path)
    check_usable(tmp_path / "copy")
    assert run_contents(tmp_path / "copy") == here
    assert "folder: data" in (tmp_path / "copy" / "config.yaml").read_text("utf-8")


def test_run_and_data_were_moved_together(project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    project.rename(tmp_path / "moved")
    check_usable(tmp_path / "moved" / RUN)


def test_data_that_is_gone_is_reported_under_the_name_that_was_written(
    project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.rmtree(project / "data")
    monkeypatch.chdir(tmp_path)
    original = load_original_data(project / RUN, load_located_recipe(project / RUN))
    assert "data/train.src: there is no such file" in str(original.warning)


def test_model_folders_have_no_paths_of_the_machine(project: Path) -> None:
    origin = json.loads((RUN / ORIGIN_FILE).read_text("utf-8"))
    assert origin == {"working_folder": str(project), "run_folder": str(project / RUN)}
    contents = [path.read_bytes() for name in ("best", "last") for path in (RUN / name).rglob("*.json")]
    assert contents
    assert not any(str(project).encode() in content for content in contents)
