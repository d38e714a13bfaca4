"""The recipe speed benchmark: report of a tiny run, and recipes with different tokens are rejected."""

import json
from pathlib import Path

import pytest
from benchmarks.recipe_speed import main

from weft.core.errors import UserError

TINY = """
data: {train: [a.txt, b.txt]}
text: {source: {type: %s}, joint: true}
model: {source: {dim: 8}, encoder: {layers: %d, heads: 2}, target: {dim: 8}, decoder: {layers: 1, heads: 2}}
train: {steps: 1, batch_tokens: 100}
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name in ("a.txt", "b.txt"):
        lines = (f"line {number % 90} and {number % 91}\n" for number in range(300))
        (tmp_path / name).write_text("".join(lines), "utf-8")
    for name, tokenizer, layers in (("small", "character", 1), ("large", "character", 2), ("other", "whitespace", 1)):
        (tmp_path / f"{name}.yaml").write_text(TINY % (tokenizer, layers), "utf-8")
    return tmp_path


def test_recipes_are_compared_with_the_first(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    recipes = [folder / "small.yaml", folder / "large.yaml"]
    main(folder, recipes, rounds=2, updates=1, warm_up=1, json_file=folder / "figures.json")
    figures = json.loads((folder / "figures.json").read_text("utf-8"))["figures"]
    assert figures["small"]["times_first"]["rounds"] == [1.0, 1.0]
    assert figures["small"]["weights"] < figures["large"]["weights"]
    assert "| large |" in capsys.readouterr().out


def test_recipes_with_different_tokens_are_rejected(folder: Path) -> None:
    with pytest.raises(UserError, match="other does not read the text as small does"):
        main(folder, [folder / "small.yaml", folder / "other.yaml"])
