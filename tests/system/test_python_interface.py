"""The functions of the package: the same results as the commands, and errors that name parameters."""

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import weft as typed_package
from system.commands import weft
from weft.core.errors import UserError

package: Any = typed_package  # some calls have arguments of the wrong type


def test_public_names() -> None:

    names = [name for name in dir(package) if not name.startswith("__")]
    assert names == ["compare", "evaluate", "finetune", "load", "load_language_model", "report", "score", "train"]
    assert f"weft {package.__version__}" == weft("--version").lines[0]
    with pytest.raises(AttributeError, match="no attribute 'trian'"):
        getattr(package, "trian")  # noqa: B009


def test_evaluation_equals_the_command(runs: dict[str, Path], corpus: Path, tmp_path: Path) -> None:
    run, files = runs["transformer"], [corpus / "test.src", corpus / "test.tgt"]
    scores = package.evaluate(run, files, metrics=["bleu", "exact"], beam=2)
    written = tmp_path / "scores.json"
    options: list[str | Path] = ["--metric", "bleu", "--metric", "exact", "--beam", "2", "--json", "--output", written]
    assert weft("evaluate", run, *files, *options).out == b""
    records = {record["name"]: record for record in json.loads(written.read_text("utf-8"))}
    assert {name: (score.value, score.signature) for name, score in scores.items()} == {
        name: (record["value"], record["signature"]) for name, record in records.items()
    }
    assert re.fullmatch(r"<ScoresByName bleu [\d.]+, exact [\d.]+>", repr(scores))
    assert re.fullmatch(r"<bleu [\d.]+ ± [\d.]+, nrefs:1\|.*>", repr(scores["bleu"]))


def test_comparison_of_models_equals_the_command(runs: dict[str, Path], corpus: Path, tmp_path: Path) -> None:
    model, other = runs["transformer"], tmp_path / "outputs"
    other.write_bytes((corpus / "test.src").read_bytes())
    source, reference = corpus / "test.src", corpus / "test.tgt"
    found = package.compare(reference, [model, str(other)], source=source, metrics=["chrf"], samples=100, beam=1)
    options: list[str | Path] = ["--source", source, "--metric", "chrf", "--samples", "100", "--beam", "1", "--json"]
    record = json.loads(weft("compare", reference, model, other, *options).out)
    assert record["systems"] == ["transformer", "outputs"] == found.names()
    command = [(one["value"], one["p"]) for one in record["metrics"]["chrf"]]
    assert command == [(one.score.value, one.p) for one in found.results["chrf"]]
    assert command[0][0] == package.evaluate(model, [source, reference], metrics=["chrf"], beam=1)["chrf"].value
    assert repr(found).startswith("<Comparison of transformer, outputs: chrf ")


def test_scores_equal_the_command(runs: dict[str, Path], corpus: Path) -> None:
    run, files = runs["transformer"], [corpus / "test.src", corpus / "test.tgt"]
    scores = package.score(str(run), files)
    assert [f"{one.score:.6f}" for one in scores] == [line.split("\t")[0] for line in weft("score", run, *files).lines]
    assert len(repr(scores[0])) < 200


def test_report_is_written(runs: dict[str, Path], tmp_path: Path) -> None:
    assert (
        package.report(str(runs["transformer"]), output=tmp_path / "page.html", sentences=1) == tmp_path / "page.html"
    )
    assert (tmp_path / "page.html").read_text("utf-8").startswith("<!doctype html>")


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (
            lambda: package.train(7, out="x"),
            TypeError,
            "recipe_or_files: expected a path or a sequence of paths, got int",
        ),
        (
            lambda: package.train(["a", 3], out="x"),
            TypeError,
            "recipe_or_files[1]: expected a path (str or Path), got int",
        ),
        (lambda: package.train("a", out=None), TypeError, "out: expected a path (str or Path), got NoneType"),
        (lambda: package.train("a", out="x", minutes="5"), TypeError, "minutes: expected a number, got str"),
        (lambda: package.train("a", out="x", minutes=-1), UserError, "minutes=-1: should be at least 0.01"),
        (
            lambda: package.train("a", out="x", overrides="a=1"),
            TypeError,
            "overrides: expected a sequence of str, got str",
        ),
        (lambda: package.train("a", out="x", device="gpu"), UserError, "device=gpu cannot be used here"),
        (lambda: package.finetune("m", "f", out="x", mix=-1), UserError, "mix=-1: should be at least 0"),
        (
            lambda: package.finetune("m", "f", out="x", freeze=["heads"]),
            UserError,
            "freeze[0]='heads': should be one of",
        ),
        (lambda: package.load("m", beam=0), UserError, "beam=0: should be at least 1"),
        (lambda: package.load("m", beam=2.5), TypeError, "beam: expected int, got float"),
        (lambda: package.load("m", beam=True), TypeError, "beam: expected int, got bool"),
        (lambda: package.load([]), UserError, "path: there is no folder"),
        (
            lambda: package.load("m", overrides=["train.steps=2"]),
            UserError,
            "overrides: 'train.steps=2': only settings",
        ),
        (lambda: package.load_language_model("m", samples=0), UserError, "samples=0: should be at least 1"),
        (
            lambda: package.evaluate("{m}", "x", stem="german"),
            UserError,
            "stem needs metrics meteor: add it, or omit stem",
        ),
        (lambda: package.evaluate("{m}", "x", beam=2), UserError, "omit beam, which is for a model"),
        (lambda: package.evaluate("m", "x", metrics="bleu"), TypeError, "metrics: expected a sequence of str, got str"),
        (lambda: package.compare("r", ["a"], test="t-test"), UserError, "test='t-test': should be one of 'bootstrap'"),
        (lambda: package.compare("{m}", ["{d}"]), UserError, "there is no source for it to translate: add source FILE"),
        (lambda: package.report("r", max_lines=0), UserError, "max_lines=0: should be at least 1"),
    ],
)
def test_errors_name_parameters(
    call: Callable[[], Any], error: type[Exception], message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "{m}").write_text("a b\n")
    (tmp_path / "{d}").mkdir()
    with pytest.raises(error) as caught:
        call()
    assert message in str(caught.value)
    assert "--" not in str(caught.value)
