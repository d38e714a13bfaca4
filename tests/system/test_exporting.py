"""weft shortlist and weft export, on a model that has learned a little."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from system.commands import weft
from unit.models import TRANSFORMER, saved, untrained


@pytest.fixture(scope="module")
def model(runs: dict[str, Path], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy with a shortlist, learned from the training data."""
    folder = tmp_path_factory.mktemp("listed") / "model"
    shutil.copytree(runs["transformer"] / "best", folder)
    told = weft("shortlist", folder, "--per-token", "3", "--frequent", "5")
    assert told.code == 0, told.err
    assert b"learned from" in told.out
    return folder


def test_a_shortlist_says_nearly_the_same(model: Path, runs: dict[str, Path], corpus: Path) -> None:
    asked: list[str | Path] = [corpus / "test.src", "--beam", "1"]
    plain = weft("translate", runs["transformer"], *asked).lines
    listed = [weft("translate", model, *asked, "--shortlist", "-v", "--backend", name) for name in ("auto", "torch")]
    assert "with a shortlist" in listed[0].err
    assert listed[0].lines == listed[1].lines
    assert sum(one == other for one, other in zip(plain, listed[0].lines, strict=True)) > len(plain) / 2


@pytest.mark.parametrize(("to", "more"), [("ctranslate2", []), ("ctranslate2", ["--shortlist"]), ("onnx", [])])
def test_an_exported_model_translates(to: str, more: list[str], model: Path, corpus: Path, tmp_path: Path) -> None:
    out = tmp_path / "exported"
    told = weft("export", model, "--format", to, *more, "--out", out)
    assert (told.code, told.err) == (0, "")
    assert (b"verified: 8 outputs" in told.out) == (to == "onnx")
    program = [sys.executable, str(out / "translate.py")]
    with (corpus / "test.src").open("rb") as source:
        done = subprocess.run(program, stdin=source, capture_output=True, text=True, check=True)
    assert done.stdout.split("\n")[:-1] == weft("translate", model, corpus / "test.src", *more).lines


def test_what_the_program_leaves_out_is_told(tmp_path: Path) -> None:
    folder = saved(
        tmp_path / "model", untrained(TRANSFORMER, translate={"search": {"type": "beam", "stop_rule": "top"}})
    )
    told = weft("export", folder, "--format", "ctranslate2", "--out", tmp_path / "out")
    assert told.code == 0
    assert told.err.endswith(":\n  translate.search.stop_rule is top\n")
