"""What sending gradients costs by formulas, and that the page about scale has the same figures."""

from pathlib import Path

import pytest
from benchmarks.on_paper import HEADER, MODELS, computing, efficiency, enough, rows, sending
from benchmarks.page import table

SCALE = Path(__file__).parents[2] / "docs" / "scale.md"


def test_the_formulas_by_hand() -> None:
    assert computing(65e6, 4096, 10e12) == pytest.approx(0.159744)
    assert sending(65e6, 8, 1.25e9) == pytest.approx(0.364)  # 2 * 7/8 * 260 MB / 1.25 GB/s
    assert sending(65e6, 1, 1.25e9) == 0
    assert efficiency(3.0, 2.0) == 1.0
    assert efficiency(3.0, 5.0) == 0.5


@pytest.mark.parametrize("weights", [65e6, 213e6])
def test_with_enough_tokens_sending_is_just_hidden(weights: float) -> None:
    tokens = enough(8, 1.25e9, 10e12)
    compute = computing(weights, round(tokens), 10e12)
    assert sending(weights, 8, 1.25e9) == pytest.approx(2 / 3 * compute)


def test_the_page_has_the_table() -> None:
    assert table(HEADER, list(rows(MODELS, 4096, 10.0))) in SCALE.read_text("utf-8")
