"""A student from a small trained model: made, killed, gone on with, compared."""

import json
import re
from pathlib import Path
from random import Random
from signal import SIGINT, SIGKILL
from typing import Any

import pytest
import torch

from system import toys
from system.commands import Moment, running, weft
from system.following import Quiet, placeless
from weft.training.derived_runs import StudentFolder
from weft.training.distillation import compare_with_teacher
from weft.visualize.run_evaluation import ReportOptions, collect_report_data
from weft.visualize.run_report import run_report_page
from weft.visualize.run_summary import read_run_summary

FEW = ("train.steps=6", "train.validation.every=3", "model.encoder.layers=2", "train.checkpoint_steps=3")
MEASURED = "distillation_scores.json"  # has times
SEARCHES = ["beam 2", "greedy", "greedy", "beam 2", "greedy, shortlist"]


@pytest.fixture(scope="module")
def teacher(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Trained on so many lines that they are translated in three parts."""
    folder = tmp_path_factory.mktemp("teacher")
    toys.write_corpus(folder)
    pairs = [(f"{number} {source}", target) for number, (source, target) in enumerate(many(2_100))]
    toys.write_pairs(folder / "train", pairs)
    node = toys.learning_recipe(folder, "transformer")
    node["translate"] = {"search": {"type": "beam", "size": 2}, "max_length_factor": 0.5, "max_length_extra": 4}
    node["train"] |= {"steps": 30}
    recipe = toys.write_recipe(folder / "recipe.yaml", node)
    assert weft("train", recipe, "--out", folder / "run").code == 0
    return folder / "run"


def many(count: int) -> list[tuple[str, str]]:
    draws = Random(7)
    return [toys.sentence(draws) for _ in range(count)]


@pytest.fixture(scope="module")
def undisturbed(teacher: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    run = tmp_path_factory.mktemp("student") / "run"
    result = weft("distill", teacher, *FEW, "--out", run)
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


def test_the_student_learns_what_its_teacher_says(teacher: Path, undisturbed: Path) -> None:
    pairs = [json.loads(line) for line in (undisturbed / "pairs" / "train.jsonl").read_text("utf-8").splitlines()]
    sources = (teacher.parent / "train.src").read_text("utf-8").split("\n")[:-1]
    targets = (teacher.parent / "train.tgt").read_text("utf-8").split("\n")[:-1]
    assert [pair["source"] for pair in pairs] == sources * 2
    assert [pair["target"] for pair in pairs[len(sources) :]] == targets
    said = weft("translate", teacher, teacher.parent / "train.src").lines
    assert [pair["target"] for pair in pairs[: len(sources)]] == said
    assert [path.name for path in (undisturbed / "pairs").iterdir()] == ["train.jsonl"]
    assert (undisturbed / "source.tokenizer.json").read_bytes() == (teacher / "source.tokenizer.json").read_bytes()


def test_the_student_is_an_ordinary_run(undisturbed: Path, teacher: Path) -> None:
    assert weft("translate", undisturbed, teacher.parent / "test.src").code == 0
    assert "all of its 6 steps" in weft("train", "--resume", undisturbed).err
    again = weft("distill", "--compare", undisturbed)
    assert again.code == 0
    assert again.lines[2].startswith("student")
    measured = json.loads((undisturbed / MEASURED).read_text("utf-8"))
    assert measured["count"] == 20
    assert [one["search"] for one in measured["systems"]] == SEARCHES
    assert {one["backend"] for one in measured["systems"]} == {"ctranslate2, int8"}
    told = run_report_page(collect_report_data(read_run_summary(undisturbed), ReportOptions(max_lines=3, sentences=1)))
    assert f"distilled from {teacher}" in told
    assert told.split(">Teacher and student</h2>")[1].count("<tr>") > len(SEARCHES)


def test_torch_has_its_threads_beside_the_other_engine(undisturbed: Path) -> None:
    torch.set_num_threads(3)
    assert torch.get_num_threads() == 3
    told = compare_with_teacher(StudentFolder(undisturbed), Quiet(), "cpu")
    assert told is not None
    assert "; 3 threads; " in told
    assert torch.get_num_threads() == 3


@pytest.mark.slow
def test_killed_while_distilling_and_training(teacher: Path, undisturbed: Path, tmp_path: Path) -> None:
    """A few writes further each time, it ends with the same files."""
    run = tmp_path / "run"
    first_part = Moment(run / "pairs" / "part-000000.jsonl", 1)
    with running("distill", teacher, *FEW, "--out", run, held_at=first_part) as making:
        making.wait_for(*first_part)
        making.process.kill()
        assert making.wait().code == -SIGKILL
    assert not (run / "pairs" / "train.jsonl").exists()
    first = (run / "pairs" / "part-000000.jsonl").stat().st_mtime_ns
    assert weft("distill", teacher, *FEW, "--out", run, dies_at=3).code == -SIGKILL
    assert (run / "pairs" / "part-000000.jsonl").stat().st_mtime_ns == first
    for write in (5, 5, 20):
        assert weft("distill", teacher, *FEW, "--out", run, dies_at=write).code == -SIGKILL
    assert weft("distill", teacher, *FEW, "--out", run).code == 0
    assert lasting(run) == lasting(undisturbed)


def lasting(run: Path) -> dict[str, Any]:
    """What a student leaves, without the times that it was measured with."""
    return {name: value for name, value in placeless(run).items() if name != MEASURED}


def test_ctrl_c_while_distilling(teacher: Path, tmp_path: Path) -> None:
    first_part = Moment(tmp_path / "run" / "pairs" / "part-000000.jsonl", 1)
    with running("distill", teacher, *FEW, "--out", tmp_path / "run", held_at=first_part) as making:
        making.wait_for(*first_part)
        making.send(SIGINT)
        making.let_go()
        result = making.wait()
    assert result.code == 130
    assert "the translations so far are saved" in result.err
    assert weft("distill", teacher, *FEW, "--out", tmp_path / "run").code == 0


@pytest.mark.slow
def test_a_shortlist_that_the_teacher_gets_meanwhile(teacher: Path, tmp_path: Path) -> None:
    first_part = Moment(tmp_path / "run" / "pairs" / "part-000000.jsonl", 1)
    with running("distill", teacher, *FEW, "--out", tmp_path / "run", held_at=first_part) as making:
        making.wait_for(*first_part)
        making.process.kill()
        making.wait()
    assert weft("shortlist", teacher).code == 0
    assert weft("distill", teacher, *FEW, "--out", tmp_path / "run").code == 0


@pytest.mark.slow
def test_held_out_pairs_that_are_gone(corpus: Path, tmp_path: Path) -> None:
    toys.write_corpus(tmp_path)
    node = toys.recipe(tmp_path, steps=2)
    node["data"] |= {"valid": [], "validation_fraction": 0.1}
    assert weft("train", toys.write_recipe(tmp_path / "recipe.yaml", node), "--out", tmp_path / "teacher").code == 0
    (tmp_path / "train.src").unlink()
    asked: list[str | Path] = [
        "distill",
        tmp_path / "teacher",
        *FEW,
        "--source",
        corpus / "test.src",
        "--out",
        tmp_path / "run",
    ]
    refused = weft(*asked)
    assert refused.code == 2
    assert "the pairs that" in refused.err
    assert "data.valid=[FILE,FILE]" in refused.err
    assert not (tmp_path / "run").exists()
    files = ",".join(str(corpus / f"test.{side}") for side in ("src", "tgt"))
    assert weft(*asked, f"data.valid=[{files}]").code == 0


@pytest.mark.slow
def test_another_teacher_with_lines_of_its_own(runs: dict[str, Path], corpus: Path, tmp_path: Path) -> None:
    settings = (
        *FEW,
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
