"""benchmarks/shortlist.py: a tiny model, both engines, its table."""

from pathlib import Path

from benchmarks.shortlist import Row, main, render

from unit.test_shortlist import few, folder_of, lines
from weft.checkpoints.model_extras import save_shortlist


def test_a_row_for_each_engine_and_search(tmp_path: Path) -> None:
    folder = folder_of(tmp_path)
    save_shortlist(folder, few())
    for name in ("in", "out"):
        (tmp_path / name).write_text("".join(f"{line}\n" for line in lines(6)), "utf-8")
    main(folder, tmp_path / "in", tmp_path / "out", lines=5, beam=[1, 2], rounds=1, json=tmp_path / "figures.json")
    figures = (tmp_path / "figures.json").read_text("utf-8")
    assert figures.count('"kind": "ctranslate2, int8') == figures.count('"kind": "torch, float32') == 2


def test_the_ratio_is_taken_within_a_round() -> None:
    row = Row("torch", (30.0, 29.5), ([2.0, 8.0, 2.0], [1.0, 2.0, 1.0]), 0.9, 10)
    table = render([row])
    for told in ("30.00", "29.50", "90.0%", "2.00 (2.00 to 4.00)", "5.0", "10.0"):
        assert told in table
