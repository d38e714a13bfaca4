"""A log that is followed: it grows, is cut back, is cut in half, and is not there yet."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as some

from weft.checkpoints.run_log import LogFollower, TrainingHistory, curve_points, read_history
from weft.core.errors import UserError
from weft.training.log_writer import JSONLogWriter


def report(step: int, loss: float = 1.0) -> dict[str, Any]:
    return {"step": step, "loss": loss, "gradient_norm": 1.0, "learning_rate": 1e-3}


def lines(*records: dict[str, Any]) -> str:
    return "".join(json.dumps(record, ensure_ascii=False) + "\n" for record in records)


@pytest.fixture
def log(tmp_path: Path) -> Path:
    return tmp_path / "log.jsonl"


def test_a_log_grows(log: Path) -> None:
    following = LogFollower(log)
    assert not following.update()  # there is none yet
    log.write_text(lines(report(1), {"step": 1, "validation": {"loss": 2.0, "bleu": 3.0}}), "utf-8")
    assert following.update()
    assert following.history.validations == [{"step": 1, "loss": 2.0, "bleu": 3.0}]
    assert not following.update()
    with log.open("a") as file:
        file.write(lines(report(2), {"step": 2, "diagnosis": "overfitting", "observation": "it drifts"}))
    assert following.update()
    assert curve_points(following.history.reports, "loss") == [(1, 1.0), (2, 1.0)]
    assert following.history.diagnoses == {"overfitting"}


def test_a_line_counts_when_it_is_whole(log: Path) -> None:
    whole = lines({"step": 1, "validation": {"examples": [{"output": "schläft\u2028hier"}]}}, report(1)).encode()
    following = LogFollower(log)
    for end in range(len(whole) + 1):
        log.write_bytes(whole[:end])
        following.update()
        seen = len(following.history.reports) + len(following.history.validations)
        assert seen == whole[:end].count(b"\n")


@given(
    before=some.lists(some.integers(1, 40), max_size=6),
    kept=some.integers(0, 6),
    after=some.lists(some.integers(1, 40), max_size=9),
)
def test_what_is_followed_is_what_stands_there(
    tmp_path_factory: pytest.TempPathFactory, before: list[int], kept: int, after: list[int]
) -> None:
    """Whatever a log was and has become between two looks: longer or shorter than before, or just as long."""
    log = tmp_path_factory.mktemp("run") / "log.jsonl"
    following = LogFollower(log)
    log.write_text(lines(*map(report, before)), "utf-8")
    following.update()
    log.write_text(lines(*map(report, before[:kept]), *(report(step, 2.0) for step in after)), "utf-8")
    following.update()
    assert following.history == read_history(log)


def test_a_run_that_goes_on_cuts_its_log_back(log: Path) -> None:
    following = LogFollower(log)
    log.write_text(lines(*(report(step) for step in (10, 20, 30))), "utf-8")
    following.update()
    again = JSONLogWriter(log, 20)
    for step in (30, 40):
        again.write(report(step, 7.0))
    assert following.update()
    assert curve_points(following.history.reports, "loss") == [(10, 1.0), (20, 1.0), (30, 7.0), (40, 7.0)]


def test_a_log_that_was_taken_away_is_forgotten(log: Path) -> None:
    log.write_text(lines(report(1)), "utf-8")
    following = LogFollower(log)
    following.update()
    log.unlink()
    assert following.update()
    assert following.history == TrainingHistory()


def test_what_a_kill_cut_in_half_is_passed_over(log: Path) -> None:
    """Also in the middle of a letter; the run goes on all the same."""
    broken = lines({"step": 2, "validation": {"examples": ["schläft"]}}).encode().partition("ä".encode()[1:])[0]
    log.write_bytes(lines(report(1)).encode() + broken)
    assert read_history(log).validations == []
    JSONLogWriter(log, 2).write(report(3))
    assert [one["step"] for one in read_history(log).reports] == [1, 3]


@pytest.mark.parametrize(
    "line", ["[1, 2]", '"step"', "{}", '{"step": "one"}', '{"step": 2, "validation": 3}', "null", "{" * 9]
)
def test_what_is_no_record_is_told_until_it_is_gone(line: str, log: Path) -> None:
    following = LogFollower(log)
    log.write_text(lines(report(1)), "utf-8")
    following.update()
    log.write_text(f"{lines(report(1))}{line}\n{lines(report(3))}", "utf-8")
    for read in (following.update, following.update, lambda: read_history(log)):
        with pytest.raises(UserError, match=r"log.jsonl, line 2: is damaged"):
            read()
    log.write_text(lines(report(1), report(3)), "utf-8")
    following.update()
    assert following.history == read_history(log)
    assert [one["step"] for one in following.history.reports] == [1, 3]


def test_what_cannot_be_drawn_is_no_point() -> None:
    values = [1.0, None, float("nan"), float("inf"), 2, "text"]
    records = [{"step": step, "best": value} for step, value in enumerate(values)]
    assert curve_points([*records, {"step": 9}], "best") == [(0, 1.0), (4, 2)]
