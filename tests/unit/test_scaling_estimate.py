"""Communication cost of gradients by formula, and the table in the documentation."""

from pathlib import Path

import pytest
from benchmarks.markdown import table
from benchmarks.scaling_estimate import (
    HEADER,
    MODELS,
    all_reduce_seconds,
    compute_seconds,
    efficiency,
    hidden_communication_tokens,
    table_rows,
)

SCALE = Path(__file__).parents[2] / "docs" / "scale.md"


def test_formulas_match_values_by_hand() -> None:
    assert compute_seconds(65e6, 4096, 10e12) == pytest.approx(0.159744)
    assert all_reduce_seconds(65e6, 8, 1.25e9) == pytest.approx(0.364)  # 2 * 7/8 * 260 MB / 1.25 GB/s
    assert all_reduce_seconds(65e6, 1, 1.25e9) == 0
    assert efficiency(3.0, 2.0) == 1.0
    assert efficiency(3.0, 5.0) == 0.5


@pytest.mark.parametrize("weights", [65e6, 213e6])
def test_communication_is_hidden_with_enough_tokens(weights: float) -> None:
    tokens = hidden_communication_tokens(8, 1.25e9, 10e12)
    compute = compute_seconds(weights, round(tokens), 10e12)
    assert all_reduce_seconds(weights, 8, 1.25e9) == pytest.approx(2 / 3 * compute)


def test_documentation_has_the_table() -> None:
    assert table(HEADER, list(table_rows(MODELS, 4096, 10.0))) in SCALE.read_text("utf-8")
