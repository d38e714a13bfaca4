"""Several benchmarks as one: each is started, a failure is told, the figures join one table and one file."""

import importlib
import inspect
import json
import sys
from pathlib import Path
from typing import Any

import pytest
from benchmarks import speeds
from benchmarks.machine import machine
from benchmarks.page import BEGIN, END
from benchmarks.spreads import spread
from benchmarks.together.rows import (
    beside_engines,
    beside_float32,
    beside_teacher,
    beside_toolkits,
    beside_torch,
    render,
)

from weft.core.errors import UserError


def speed(tokens: float, **more: Any) -> dict[str, Any]:
    return {"tokens_per_second": spread([tokens]), "peak_memory_mib": 1000.0, **more}


TORCH = {"weft": speed(300), "torch": speed(200), "ratio": spread([1.5])}
TOOLKITS = {
    "weft": speed(300, share=spread([0.5]), ratios={}),
    "weft bfloat16": speed(600, share=spread([0.4]), ratios={}),
    "opennmt": speed(100, share=spread([0.2]), ratios={"weft": spread([3.0]), "weft bfloat16": spread([6.0])}),
}
WRITTEN = {"setting": {}, "figures": TORCH}
ENGINES = {
    "Weft": {"1": speed(10, ratio=None), "128": speed(40, ratio=None)},
    "CTranslate2, 1 x 2": {"1": speed(20, ratio=spread([0.5])), "128": speed(80, ratio=spread([0.5]))},
}


def test_rows_are_weft_beside_one_peer() -> None:
    assert [row.cells() for row in beside_torch("training", TORCH)] == [
        ["training", "plain torch", "300 tokens/s", "200", "1.50", "", "1,000", "1,000"]
    ]
    found = [(row.what, row.peer, row.ratio["median"]) for row in beside_toolkits("training", TOOLKITS)]
    assert found == [("training", "opennmt", 3.0), ("training, bfloat16", "opennmt", 6.0)]
    found = [(row.what, row.peer, row.ratio["median"]) for row in beside_engines("beam", ENGINES)]
    assert found == [(f"beam, batches of {size}", "CTranslate2, 1 x 2", 0.5) for size in ("1", "128")]


def test_weft_beside_itself_tells_what_else_changed() -> None:
    full, short = (
        {"tokens_per_second": spread([tokens]), "times_first": spread([tokens / 100]), "times_loss": loss}
        for tokens, loss in ((100, 1.0), (150, 1.002))
    )
    (row,) = beside_float32("training", {"float32": full, "bfloat16": short})
    assert row.cells()[:5] == [
        "training, bfloat16, at 100.20% of the loss",
        "Weft in float32",
        "150 tokens/s",
        "100",
        "1.50",
    ]


def test_a_student_beside_its_teacher() -> None:
    scores = [{"name": "bleu", "value": 9}]
    teacher, student = (
        {"model": name, "search": search, "backend": "torch", "seconds": times, "scores": scores}
        for name, search, times in (("teacher", "beam 5", [4.0, 8.0]), ("student", "greedy", [1.0, 2.0]))
    )
    (row,) = beside_teacher("translating", {"count": 8, "systems": [teacher, student]})
    assert row.cells()[:5] == [
        "translating: student, greedy, torch (BLEU 9.0)",
        "teacher, beam 5, torch (BLEU 9.0)",
        "6 lines/s",
        "2",
        "4.00 (4.00 - 4.00)",
    ]


def test_the_table_has_shares_where_there_are_some() -> None:
    (first, *_) = beside_toolkits("training", TOOLKITS)
    lines = render(machine() | {"data": "here"}, [first]).split("\n")
    assert lines[2] == "| training | opennmt | 300 tokens/s | 100 | 3.00 | 50% | 1,000 | 1,000 |"
    assert lines[-2].endswith("data: here.")


@pytest.fixture
def parts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two parts that write what they are told, and fail without a word."""
    good = f"import sys; open(sys.argv[-1], 'w').write({json.dumps(WRITTEN)!r})"
    made = [scripted("good", good), scripted("bad", "raise SystemExit(2)")]
    monkeypatch.setattr(speeds, "PARTS", made)
    monkeypatch.setattr(speeds, "NAMES", [part.name for part in made])


def scripted(name: str, code: str) -> speeds.Part:
    class Scripted(speeds.Part):
        def command(self, asked: object) -> list[str]:
            return [sys.executable, "-c", code]

    return Scripted(name, "training", "none", (), beside_torch)


@pytest.mark.usefixtures("parts")
def test_a_part_that_fails_takes_nothing_from_the_others(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "bench.json"
    with pytest.raises(UserError, match="these parts failed, for the reasons above: bad"):
        speeds.main(only="good,bad", json_file=file)
    assert json.loads(file.read_text()) == {"good": WRITTEN}
    assert "| training | plain torch | 300 tokens/s | 200 |" in capsys.readouterr().out


@pytest.mark.usefixtures("parts")
def test_a_page_gets_the_table(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(f"before\n{BEGIN}old\n{END}after\n")
    speeds.main(only="good", page=page)
    assert page.read_text().startswith(f"before\n{BEGIN}|")
    assert "old" not in page.read_text()
    with pytest.raises(UserError, match="there is no such file"):
        speeds.main(only="good", page=tmp_path / "none.md")


@pytest.mark.usefixtures("parts")
def test_parts_are_chosen_by_name(tmp_path: Path) -> None:
    speeds.main(only="good", json_file=tmp_path / "bench.json")
    with pytest.raises(UserError, match="'worse' is no part: write some of good, bad"):
        speeds.main(only="good,worse")


@pytest.mark.usefixtures("parts")
def test_a_part_that_lacks_something_is_told_and_no_failure(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    poor = speeds.PARTS[1]._replace(needs=("data", "threads"))
    monkeypatch.setattr(speeds, "PARTS", [poor])
    speeds.main(only="bad")
    assert "bad is left out: it needs --data\n" in capsys.readouterr().err


def test_what_is_asked_for_goes_to_every_part() -> None:
    (tiny,) = (part for part in speeds.PARTS if part.name == "tiny")
    command = tiny.command({"rounds": "1", "model": "none of its business"})
    always = ["--shape", "tiny", *speeds.BOTH, *speeds.IN_PARTS]
    assert command[1:] == ["-m", "benchmarks.peer_speed", *always, "--rounds", "1"]


@pytest.mark.parametrize("part", speeds.PARTS, ids=speeds.NAMES)
def test_every_part_is_a_benchmark_that_takes_these_options(part: speeds.Part) -> None:
    main = importlib.import_module(f"benchmarks.{part.module}").main
    told = {option.removeprefix("--") for option in (*part.options, *part.takes.values()) if option.startswith("--")}
    assert {"json_file"} | told <= set(inspect.signature(main).parameters)
    assert part.takes.keys() >= set(part.needs)
