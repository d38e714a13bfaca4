"""The combined speed benchmark: options of its parts, and the rows made of their figures."""

import importlib
import inspect
from typing import Any

import pytest
from benchmarks import speeds
from benchmarks.speed_rows import (
    beam_search_rows,
    precision_rows,
    student_rows,
    toolkit_rows,
    torch_rows,
)
from benchmarks.summary_statistics import summarize


def speed(tokens: float, **more: Any) -> dict[str, Any]:
    return {"tokens_per_second": summarize([tokens]), "peak_memory_mib": 1000.0, **more}


TORCH = {"weft": speed(300), "torch": speed(200), "ratio": summarize([1.5])}
TOOLKITS = {
    "weft": speed(300, share=summarize([0.5]), ratios={}),
    "weft bfloat16": speed(600, share=summarize([0.4]), ratios={}),
    "opennmt": speed(100, share=summarize([0.2]), ratios={"weft": summarize([3.0]), "weft bfloat16": summarize([6.0])}),
}
ENGINES = {
    "Weft": {"1": speed(10, ratio=None), "128": speed(40, ratio=None)},
    "CTranslate2, 1 x 2": {"1": speed(20, ratio=summarize([0.5])), "128": speed(80, ratio=summarize([0.5]))},
}


def test_each_row_compares_weft_with_one_system() -> None:
    assert [row.cells() for row in torch_rows("training", TORCH)] == [
        ["training", "plain torch", "300 tokens/s", "200", "1.50", "", "1,000", "1,000"]
    ]
    found = [(row.what, row.peer, row.ratio["median"]) for row in toolkit_rows("training", TOOLKITS)]
    assert found == [("training", "opennmt", 3.0), ("training, bfloat16", "opennmt", 6.0)]
    found = [(row.what, row.peer, row.ratio["median"]) for row in beam_search_rows("beam", ENGINES)]
    assert found == [(f"beam, batches of {size}", "CTranslate2, 1 x 2", 0.5) for size in ("1", "128")]


def test_precision_row_reports_the_change_in_loss() -> None:
    full, short = (
        {"tokens_per_second": summarize([tokens]), "times_first": summarize([tokens / 100]), "times_loss": loss}
        for tokens, loss in ((100, 1.0), (150, 1.002))
    )
    (row,) = precision_rows("training", {"float32": full, "bfloat16": short})
    assert row.cells()[:5] == [
        "training, bfloat16, at 100.20% of the loss",
        "Weft in float32",
        "150 tokens/s",
        "100",
        "1.50",
    ]


def test_student_is_compared_with_its_teacher() -> None:
    scores = [{"name": "bleu", "value": 9}]
    teacher, student = (
        {"model": name, "search": search, "backend": "torch", "seconds": times, "scores": scores}
        for name, search, times in (("teacher", "beam 5", [4.0, 8.0]), ("student", "greedy", [1.0, 2.0]))
    )
    (row,) = student_rows("translating", {"count": 8, "systems": [teacher, student]})
    assert row.cells()[:5] == [
        "translating: student, greedy, torch (BLEU 9.0)",
        "teacher, beam 5, torch (BLEU 9.0)",
        "6 lines/s",
        "2",
        "4.00 (4.00 - 4.00)",
    ]


def test_options_are_passed_to_every_part() -> None:
    (tiny,) = (part for part in speeds.PARTS if part.name == "tiny")
    command = tiny.command({"rounds": "1", "model": "none of its business"})
    always = ["--shape", "tiny", *speeds.BOTH, *speeds.IN_PARTS]
    assert command[1:] == ["-m", "benchmarks.peer_speed", *always, "--rounds", "1"]


@pytest.mark.parametrize("part", speeds.PARTS, ids=speeds.NAMES)
def test_every_part_accepts_its_options(part: speeds.Part) -> None:
    main = importlib.import_module(f"benchmarks.{part.module}").main
    options = {option.removeprefix("--") for option in (*part.options, *part.takes.values()) if option.startswith("--")}
    assert {"json_file"} | options <= set(inspect.signature(main).parameters)
    assert part.takes.keys() >= set(part.needs)
