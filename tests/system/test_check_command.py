"""`weft check`: its output, exit code and cleaned copy, and the warnings of training on the same data."""

import json
from pathlib import Path

import pytest

from system import toys
from system.commands import weft


@pytest.fixture
def bad_corpus(tmp_path: Path, corpus: Path) -> Path:
    """The toy corpus with pairs of identical sides and another script, and a table that is not UTF-8."""
    pairs = list(
        zip(*((corpus / f"train.{side}").read_text("utf-8").split("\n")[:-1] for side in ("src", "tgt")), strict=True)
    )
    folder = tmp_path / "bad"
    folder.mkdir()
    bad_pairs = [
        *pairs,
        *[(f"a cat {number}", f"a cat {number}") for number in range(60)],
        ("a dog sees", "собака видит"),
    ]
    toys.write_pairs(folder / "train", bad_pairs)
    (folder / "latin.tsv").write_bytes(b"the cat\tli kato\nthe caf\xe9\tli kafo\n")
    return folder


def test_good_data_passes(corpus: Path, runs: dict[str, Path]) -> None:
    result = weft("check", corpus / "train.src", corpus / "train.tgt", "--tokenizer", runs["transformer"])
    assert result.code == 0
    assert "pairs" in result.lines[1]
    assert "400" in result.lines[1]
    assert "! " not in result.out.decode()
    assert any(line.startswith("train, target: ") and line.endswith("% unknown") for line in result.lines)


def test_bad_data_fails(bad_corpus: Path) -> None:
    result = weft("check", bad_corpus / "train.src", bad_corpus / "train.tgt")
    assert result.code == 1
    rows = {line[:24].strip(): line[24:].split() for line in result.lines[:23]}
    assert rows["identical sides"] == ["!", "60", "(13.0%)"]
    assert rows["another script"] == ["1", "(0.2%)"]
    assert rows["unknown tokens"] == ["-"]
    assert f"  {bad_corpus}/train.src, line 401: a cat 0 | a cat 0" in result.lines


def test_recipe_with_json_output(bad_corpus: Path, corpus: Path) -> None:
    recipe = toys.write_recipe(bad_corpus / "recipe.yaml", toys.recipe(corpus))
    result = weft("check", recipe, f"data.train=[{bad_corpus}/latin.tsv]", "--json")
    assert result.code == 1
    report = json.loads(result.out)
    assert [corpus_report["name"] for corpus_report in report["corpora"]] == ["train", "valid", "test"]
    (encoding,) = (problem for problem in report["corpora"][0]["problems"] if problem["kind"] == "encoding")
    assert encoding["count"] == 1
    example = encoding["examples"][0]
    assert (example["file"], example["line"]) == (f"{bad_corpus}/latin.tsv", 2)
    assert "byte 0xE9 at position 8" in example["source"]


def test_fixed_copy_passes_and_trains(bad_corpus: Path, corpus: Path, tmp_path: Path) -> None:
    out = tmp_path / "clean"
    held_out: list[str | Path] = ["--valid", corpus / "valid.src", "--valid", corpus / "valid.tgt"]
    result = weft("check", bad_corpus / "train.src", bad_corpus / "train.tgt", *held_out, "--fix", out)
    assert result.code == 0
    assert f"weft: {out}: a copy with " in result.err
    assert weft("check", out / "train.src", out / "train.tgt", *held_out).code == 0
    recipe = toys.write_recipe(tmp_path / "recipe.yaml", toys.recipe(corpus, steps=1))
    trained = weft("train", recipe, f"data.train=[{out}/train.src, {out}/train.tgt]", "--out", tmp_path / "run")
    assert trained.code == 0
    assert "warning: " not in trained.err
    again = weft("check", bad_corpus / "train.src", bad_corpus / "train.tgt", "--fix", out)
    assert again.code == 2
    assert "exists already" in again.err


def test_ignored_problems_stay_in_the_copy(bad_corpus: Path, tmp_path: Path) -> None:
    out = tmp_path / "clean"
    result = weft("check", bad_corpus / "train.src", bad_corpus / "train.tgt", "--fix", out, "--ignore", "identical")
    assert result.code == 1  # the ignored problem is still serious
    assert (out / "train.src").read_text("utf-8").count("a cat ") >= 60
    assert "собака" not in (out / "train.tgt").read_text("utf-8")


def test_training_warns_about_bad_data(bad_corpus: Path, corpus: Path, tmp_path: Path) -> None:
    recipe = toys.write_recipe(tmp_path / "recipe.yaml", toys.recipe(corpus, steps=1))
    result = weft(
        "train", recipe, f"data.train=[{bad_corpus}/train.src, {bad_corpus}/train.tgt]", "--out", tmp_path / "run"
    )
    assert result.code == 0
    assert "warning: identical sides in 13.0% of the training data" in result.err
    assert "weft check" in result.err


def test_killed_fix_leaves_no_copy(bad_corpus: Path, tmp_path: Path) -> None:
    out = tmp_path / "clean"
    assert weft("check", bad_corpus / "train.src", bad_corpus / "train.tgt", "--fix", out, kill_at_write=1).code < 0
    assert not out.exists()
    assert weft("check", bad_corpus / "train.src", bad_corpus / "train.tgt", "--fix", out).code == 0
    assert sorted(path.name for path in tmp_path.iterdir()) == ["bad", "clean"]
