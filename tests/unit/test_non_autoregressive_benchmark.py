"""The benchmark benchmarks/non_autoregressive.py: pairs, recipes and table."""

from pathlib import Path

import pytest
from benchmarks.non_autoregressive import (
    MAX_CHARACTERS,
    MIN_LINES,
    TEST_LINES,
    VALID_LINES,
    Row,
    Task,
    case_restoration,
    models,
    render,
    scores,
)

from weft.config.recipe import load_recipe
from weft.core.errors import UserError
from weft.data.text_files import read_lines
from weft.training.recipe_checks import check_recipe


@pytest.fixture
def task(tmp_path: Path) -> Task:
    text = tmp_path / "text.txt"
    lines = [*(f"Line {number}" for number in range(MIN_LINES)), "Line 1", "", "A" * (MAX_CHARACTERS + 1)]
    text.write_text("".join(f"{line}\n" for line in lines), "utf-8", newline="\n")
    return case_restoration(text, tmp_path)


def test_splits_are_disjoint(task: Task, tmp_path: Path) -> None:
    trained, validated = (list(read_lines(tmp_path / name)) for name in ("train.txt", "valid.txt"))
    assert (len(task.references), len(validated)) == (TEST_LINES, VALID_LINES)
    assert len({*trained, *validated, *task.references}) == len(trained) + VALID_LINES + TEST_LINES == MIN_LINES
    assert list(task.sources) == [line.lower() for line in task.references]


def test_every_recipe_is_valid(task: Task) -> None:
    for settings in models(task.limit).values():
        check_recipe(load_recipe(task.recipe | settings, ["train.steps=null", "train.minutes=1"]))


def test_text_that_is_too_short_is_reported(tmp_path: Path) -> None:
    (tmp_path / "short.txt").write_text("A line\nA line\nAnother\n", "utf-8", newline="\n")
    with pytest.raises(UserError, match="has 2 different lines of at most 99 characters, but 10,000 are needed"):
        case_restoration(tmp_path / "short.txt", tmp_path)


def test_table(task: Task) -> None:
    unchanged = Row("case", "unchanged", None, None, scores(task, task.sources))
    assert unchanged.scores["exact"] == 0
    dense = Row("case", "LSTM -> Dense", 1_234_567, 8901.2, {"wer": 1.0, "cer": 0.5, "exact": 90.0})
    assert render([unchanged, dense]).split("\n")[::3] == [
        "| case | wer | cer | exact | tokens/s | weights |",
        "| LSTM -> Dense | 1.00 | 0.50 | 90.00 | 8,901 | 1.23 M |",
    ]
