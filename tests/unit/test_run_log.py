"""Following a training log that grows, is truncated, is incomplete or does not exist yet."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

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


def test_appended_records_are_read(log: Path) -> None:
    follower = LogFollower(log)
    assert not follower.update()  # the file does not exist yet
    log.write_text(lines(report(1), {"step": 1, "validation": {"loss": 2.0, "bleu": 3.0}}), "utf-8")
    assert follower.update()
    assert follower.history.validations == [{"step": 1, "loss": 2.0, "bleu": 3.0}]
    assert not follower.update()
    with log.open("a") as file:
        file.write(lines(report(2), {"step": 2, "diagnosis": "overfitting", "observation": "it drifts"}))
    assert follower.update()
    assert curve_points(follower.history.reports, "loss") == [(1, 1.0), (2, 1.0)]
    assert follower.history.diagnoses == {"overfitting"}


def test_only_complete_lines_are_read(log: Path) -> None:
    whole = lines({"step": 1, "validation": {"examples": [{"output": "schläft\u2028hier"}]}}, report(1)).encode()
    follower = LogFollower(log)
    for end in range(len(whole) + 1):
        log.write_bytes(whole[:end])
        follower.update()
        records = len(follower.history.reports) + len(follower.history.validations)
        assert records == whole[:end].count(b"\n")


@given(
    before=st.lists(st.integers(1, 40), max_size=6),
    unchanged=st.integers(0, 6),
    after=st.lists(st.integers(1, 40), max_size=9),
)
def test_follower_matches_the_file_after_any_change(
    tmp_path_factory: pytest.TempPathFactory, before: list[int], unchanged: int, after: list[int]
) -> None:
    """However the log changes between two updates: longer, shorter or of the same length."""
    log = tmp_path_factory.mktemp("run") / "log.jsonl"
    follower = LogFollower(log)
    log.write_text(lines(*map(report, before)), "utf-8")
    follower.update()
    log.write_text(lines(*map(report, before[:unchanged]), *(report(step, 2.0) for step in after)), "utf-8")
    follower.update()
    assert follower.history == read_history(log)


def test_resumed_run_truncates_its_log(log: Path) -> None:
    follower = LogFollower(log)
    log.write_text(lines(*(report(step) for step in (10, 20, 30))), "utf-8")
    follower.update()
    writer = JSONLogWriter(log, 20)
    for step in (30, 40):
        writer.write(report(step, 7.0))
    assert follower.update()
    assert curve_points(follower.history.reports, "loss") == [(10, 1.0), (20, 1.0), (30, 7.0), (40, 7.0)]


def test_deleted_log_clears_the_history(log: Path) -> None:
    log.write_text(lines(report(1)), "utf-8")
    follower = LogFollower(log)
    follower.update()
    log.unlink()
    assert follower.update()
    assert follower.history == TrainingHistory()


def test_incomplete_last_line_is_skipped(log: Path) -> None:
    """Also inside a multi-byte character; the run can be resumed."""
    broken = lines({"step": 2, "validation": {"examples": ["schläft"]}}).encode().partition("ä".encode()[1:])[0]
    log.write_bytes(lines(report(1)).encode() + broken)
    assert read_history(log).validations == []
    JSONLogWriter(log, 2).write(report(3))
    assert [record["step"] for record in read_history(log).reports] == [1, 3]


@pytest.mark.parametrize(
    "line", ["[1, 2]", '"step"', "{}", '{"step": "one"}', '{"step": 2, "validation": 3}', "null", "{" * 9]
)
def test_damaged_record_is_reported_until_it_is_removed(line: str, log: Path) -> None:
    follower = LogFollower(log)
    log.write_text(lines(report(1)), "utf-8")
    follower.update()
    log.write_text(f"{lines(report(1))}{line}\n{lines(report(3))}", "utf-8")
    for read in (follower.update, follower.update, lambda: read_history(log)):
        with pytest.raises(UserError, match=r"log.jsonl, line 2: is damaged"):
            read()
    log.write_text(lines(report(1), report(3)), "utf-8")
    follower.update()
    assert follower.history == read_history(log)
    assert [record["step"] for record in follower.history.reports] == [1, 3]


def test_curve_points_skip_non_finite_values() -> None:
    values = [1.0, None, float("nan"), float("inf"), 2, "text"]
    records = [{"step": step, "best": value} for step, value in enumerate(values)]
    assert curve_points([*records, {"step": 9}], "best") == [(0, 1.0), (4, 2)]
