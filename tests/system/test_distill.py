"""`weft distill` with a small teacher: run, killed, resumed, compared."""

import json
import re
from pathlib import Path
from random import Random
from signal import SIGINT, SIGKILL
from typing import Any

import pytest
import torch

from system import toys
from system.commands import LineCount, running, weft
from system.training_runs import RecordingDisplay, run_contents_without_paths
from weft.training.distillation import StudentFolder, compare_with_teacher
from weft.visualize.run_evaluation import ReportOptions, collect_report_data
from weft.visualize.run_report import run_report_page
from weft.visualize.run_summary import read_run_summary

SETTINGS = ("train.steps=6", "train.validation.every=3", "model.encoder.layers=2", "train.checkpoint_steps=3")
SCORES_FILE = "distillation_scores.json"  # contains times
SEARCHES = ["beam 2", "greedy", "greedy", "beam 2", "greedy, shortlist"]


@pytest.fixture(scope="module")
def teacher(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A teacher whose training data is translated in three parts."""
    folder = tmp_path_factory.mktemp("teacher")
    toys.write_corpus(folder)
    pairs = [(f"{number} {source}", target) for number, (source, target) in enumerate(draw_pairs(2_100))]
    toys.write_pairs(folder / "train", pairs)
    node = toys.learning_recipe(folder, "transformer")
    node["translate"] = {"search": {"type": "beam", "size": 2}, "max_length_factor": 0.5, "max_length_extra": 4}
    node["train"] |= {"steps": 30}
    recipe = toys.write_recipe(folder / "recipe.yaml", node)
    assert weft("train", recipe, "--out", folder / "run").code == 0
    return folder / "run"


def draw_pairs(count: int) -> list[tuple[str, str]]:
    rng = Random(7)
    return [toys.sentence(rng) for _ in range(count)]


@pytest.fixture(scope="module")
def undisturbed(teacher: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    run = tmp_path_factory.mktemp("student") / "run"
    result = weft("distill", teacher, *SETTINGS, "--out", run)
    assert result.code == 0, result.err
    rows = [line.split() for line in result.lines[1:6]]
    assert [row[:2] for row in rows] == [
        ["teacher", "beam"],
        ["student", "greedy"],
        ["teacher", "greedy"],
        ["student", "beam"],
        ["student", "greedy,"],
    ]
    return run


def test_student_is_trained_on_the_teachers_translations(teacher: Path, undisturbed: Path) -> None:
    pairs = [json.loads(line) for line in (undisturbed / "pairs" / "train.jsonl").read_text("utf-8").splitlines()]
    sources = (teacher.parent / "train.src").read_text("utf-8").split("\n")[:-1]
    targets = (teacher.parent / "train.tgt").read_text("utf-8").split("\n")[:-1]
    assert [pair["source"] for pair in pairs] == sources * 2
    assert [pair["target"] for pair in pairs[len(sources) :]] == targets
    outputs = weft("translate", teacher, teacher.parent / "train.src").lines
    assert [pair["target"] for pair in pairs[: len(sources)]] == outputs
    assert [path.name for path in (undisturbed / "pairs").iterdir()] == ["train.jsonl"]
    assert (undisturbed / "source.tokenizer.json").read_bytes() == (teacher / "source.tokenizer.json").read_bytes()


def test_student_is_an_ordinary_run(undisturbed: Path, teacher: Path) -> None:
    assert weft("translate", undisturbed, teacher.parent / "test.src").code == 0
    assert "all of its 6 steps" in weft("train", "--resume", undisturbed).err
    comparison = weft("distill", "--compare", undisturbed)
    assert comparison.code == 0
    assert comparison.lines[2].startswith("student")
    scores = json.loads((undisturbed / SCORES_FILE).read_text("utf-8"))
    assert scores["count"] == 20
    assert [system["search"] for system in scores["systems"]] == SEARCHES
    assert {system["backend"] for system in scores["systems"]} == {"ctranslate2, int8"}
    page = run_report_page(collect_report_data(read_run_summary(undisturbed), ReportOptions(max_lines=3, sentences=1)))
    assert f"distilled from {teacher}" in page
    assert page.split(">Teacher and student</h2>")[1].count("<tr>") > len(SEARCHES)


def test_comparison_keeps_the_number_of_torch_threads(undisturbed: Path) -> None:
    torch.set_num_threads(3)
    assert torch.get_num_threads() == 3
    table = compare_with_teacher(StudentFolder(undisturbed), RecordingDisplay(), "cpu")
    assert table is not None
    assert "; 3 threads; " in table
    assert torch.get_num_threads() == 3


@pytest.mark.slow
def test_run_killed_while_translating_and_training_ends_like_an_undisturbed_run(
    teacher: Path, undisturbed: Path, tmp_path: Path
) -> None:
    """Each attempt is killed a few writes later."""
    run = tmp_path / "run"
    first_part = LineCount(run / "pairs" / "part-000000.jsonl", 1)
    with running("distill", teacher, *SETTINGS, "--out", run, pause_at=first_part) as distilling:
        distilling.wait_for(*first_part)
        distilling.process.kill()
        assert distilling.wait().code == -SIGKILL
    assert not (run / "pairs" / "train.jsonl").exists()
    first = (run / "pairs" / "part-000000.jsonl").stat().st_mtime_ns
    assert weft("distill", teacher, *SETTINGS, "--out", run, kill_at_write=3).code == -SIGKILL
    assert (run / "pairs" / "part-000000.jsonl").stat().st_mtime_ns == first
    for write in (5, 5, 20):
        assert weft("distill", teacher, *SETTINGS, "--out", run, kill_at_write=write).code == -SIGKILL
    assert weft("distill", teacher, *SETTINGS, "--out", run).code == 0
    assert contents_without_scores(run) == contents_without_scores(undisturbed)


def contents_without_scores(run: Path) -> dict[str, Any]:
    """Return the files of a student's run, without the measured times."""
    return {name: value for name, value in run_contents_without_paths(run).items() if name != SCORES_FILE}


def test_ctrl_c_while_translating_saves_the_translations(teacher: Path, tmp_path: Path) -> None:
    first_part = LineCount(tmp_path / "run" / "pairs" / "part-000000.jsonl", 1)
    with running("distill", teacher, *SETTINGS, "--out", tmp_path / "run", pause_at=first_part) as distilling:
        distilling.wait_for(*first_part)
        distilling.send(SIGINT)
        distilling.release()
        result = distilling.wait()
    assert result.code == 130
    assert "the translations so far are saved" in result.err
    assert weft("distill", teacher, *SETTINGS, "--out", tmp_path / "run").code == 0


@pytest.mark.slow
def test_teacher_may_get_a_shortlist_before_the_run_is_resumed(teacher: Path, tmp_path: Path) -> None:
    first_part = LineCount(tmp_path / "run" / "pairs" / "part-000000.jsonl", 1)
    with running("distill", teacher, *SETTINGS, "--out", tmp_path / "run", pause_at=first_part) as distilling:
        distilling.wait_for(*first_part)
        distilling.process.kill()
        distilling.wait()
    assert weft("shortlist", teacher).code == 0
    assert weft("distill", teacher, *SETTINGS, "--out", tmp_path / "run").code == 0


@pytest.mark.slow
def test_missing_held_out_pairs_are_reported(corpus: Path, tmp_path: Path) -> None:
    toys.write_corpus(tmp_path)
    node = toys.recipe(tmp_path, steps=2)
    node["data"] |= {"valid": [], "validation_fraction": 0.1}
    assert weft("train", toys.write_recipe(tmp_path / "recipe.yaml", node), "--out", tmp_path / "teacher").code == 0
    (tmp_path / "train.src").unlink()
    command: list[str | Path] = [
        "distill",
        tmp_path / "teacher",
        *SETTINGS,
        "--source",
        corpus / "test.src",
        "--out",
        tmp_path / "run",
    ]
    result = weft(*command)
    assert result.code == 2
    assert "the pairs that" in result.err
    assert "data.valid=[FILE,FILE]" in result.err
    assert not (tmp_path / "run").exists()
    files = ",".join(str(corpus / f"test.{side}") for side in ("src", "tgt"))
    assert weft(*command, f"data.valid=[{files}]").code == 0


@pytest.mark.slow
def test_recurrent_teacher_translates_extra_lines(runs: dict[str, Path], corpus: Path, tmp_path: Path) -> None:
    settings = (
        *SETTINGS,
        "model.source.dim=16",
        "model.target.dim=16",
        "model.decoder.ffn_dim=16",
        "model.encoder.ffn_dim=16",
    )
    out = tmp_path / "run"
    result = weft("distill", runs["bahdanau"], *settings, "--source", corpus / "test.src", "--out", out)
    assert result.code == 0, result.err
    assert len((out / "pairs" / "train.jsonl").read_text("utf-8").splitlines()) == 20
    rows = [line for line in result.lines if line.startswith(("teacher", "student"))]
    assert [re.split("  +", row)[:3] for row in rows] == [
        ["teacher", "greedy", "torch, float32"],
        ["student", "greedy", "ctranslate2, int8"],
        ["student", "greedy, shortlist", "ctranslate2, int8"],
    ]
