"""The shortlist benchmark on a tiny model with both backends."""

from pathlib import Path

from benchmarks.shortlist import Row, main, render

from unit.test_shortlist import model_folder, random_lines, small_shortlist
from weft.checkpoints.model_folder import save_shortlist


def test_one_row_per_backend_and_beam_size(tmp_path: Path) -> None:
    folder = model_folder(tmp_path)
    save_shortlist(folder, small_shortlist())
    for name in ("in", "out"):
        (tmp_path / name).write_text("".join(f"{line}\n" for line in random_lines(6)), "utf-8")
    main(folder, tmp_path / "in", tmp_path / "out", lines=5, beam=[1, 2], rounds=1, json=tmp_path / "figures.json")
    figures = (tmp_path / "figures.json").read_text("utf-8")
    assert figures.count('"kind": "ctranslate2, int8') == figures.count('"kind": "torch, float32') == 2


def test_ratios_are_computed_within_each_round() -> None:
    row = Row("torch", (30.0, 29.5), ([2.0, 8.0, 2.0], [1.0, 2.0, 1.0]), 0.9, 10)
    table = render([row])
    for cell in ("30.00", "29.50", "90.0%", "2.00 (2.00 to 4.00)", "5.0", "10.0"):
        assert cell in table
