"""The benchmark of captchas: the same pictures for the same seed, and an interval that holds what it should."""

from pathlib import Path

import pytest
from benchmarks.captchas import LENGTH, SYMBOLS, draw, told
from benchmarks.shares import Share


def test_a_captcha_is_a_function_of_its_seed_file_and_number(tmp_path: Path) -> None:
    pytest.importorskip("captcha")
    names = {}
    for folder, split, seed, number in (
        ("a", "train", 1, 7),
        ("b", "train", 1, 7),
        ("c", "test", 1, 7),
        ("d", "train", 2, 7),
    ):
        line = draw(tmp_path / folder, split, seed, number)
        name, text = line.removesuffix("\n").split("\t")
        assert len(text) == LENGTH
        assert set(text) <= set(SYMBOLS)
        names[folder] = (tmp_path / folder / name).read_bytes(), text
    assert names["a"] == names["b"]
    assert len({names[folder] for folder in "acd"}) == 3


def test_the_interval_is_wilsons() -> None:
    """Newcombe 1998, table I, method 3: 81 of 263, and 0 of 20."""
    assert Share(81, 263).interval() == pytest.approx((0.2553, 0.3662), abs=1e-4)
    assert Share(0, 20).interval() == pytest.approx((0.0, 0.1611), abs=1e-4)
    assert Share(10, 10).interval()[1] == pytest.approx(1.0)
    assert told(Share(950, 1000)) == "95.0% of 1,000 captchas are read whole (93.5% to 96.2%)"
