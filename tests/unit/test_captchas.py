"""The captcha benchmark: images are determined by the seed, and the interval is Wilson's."""

from pathlib import Path

import pytest
from benchmarks.captchas import LENGTH, SYMBOLS, draw, format_score
from benchmarks.summary_statistics import Proportion


def test_captcha_depends_on_seed_split_and_number(tmp_path: Path) -> None:
    pytest.importorskip("captcha")
    images = {}
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
        images[folder] = (tmp_path / folder / name).read_bytes(), text
    assert images["a"] == images["b"]
    assert len({images[folder] for folder in "acd"}) == 3


def test_wilson_interval() -> None:
    """Newcombe 1998, table I, method 3: 81 of 263, and 0 of 20."""
    assert Proportion(81, 263).interval() == pytest.approx((0.2553, 0.3662), abs=1e-4)
    assert Proportion(0, 20).interval() == pytest.approx((0.0, 0.1611), abs=1e-4)
    assert Proportion(10, 10).interval()[1] == pytest.approx(1.0)
    assert format_score(Proportion(950, 1000)) == "95.0% of 1,000 captchas are read whole (93.5% to 96.2%)"
