"""Integer quantization of weights for CTranslate2."""

from pathlib import Path

import numpy as np
import pytest

from unit.models import TRANSFORMER, save_model_folder, untrained_model
from weft.checkpoints.model_folder import read_model_folder
from weft.inference.export.ctranslate2_converter import (
    WeightBits,
    quantize_rows,
    quantize_spec,
    transformer_spec,
)

ROWS = {
    "numbers": [0.3, -1.7, 0.01, 1.2],
    "nothing": [0.0, 0.0, 0.0, 0.0],
    "one that is large": [1e-3, 1000.0, -2e-3, 0.5],
    "hardly anything": [1e-40, 0.0, 0.0, -1e-41],
    "the largest there are": [3e38, -3e38, 1e38, 0.0],
}


@pytest.mark.parametrize("bits", [7, 8])
@pytest.mark.parametrize("row", ROWS.values(), ids=ROWS)
def test_rounding_error_is_at_most_half_a_step(row: list[float], bits: WeightBits) -> None:
    weight = np.array([row], np.float32)
    numbers, scale = quantize_rows(weight, bits)
    assert np.isfinite(scale).all()
    assert np.abs(numbers).max() <= 2 ** (bits - 1) - 1
    assert (np.abs(numbers / scale[:, None] - weight) <= 0.5001 / scale).all()


def test_sum_of_two_products_fits_into_16_bits() -> None:
    [[largest]], _ = quantize_rows(np.array([[1.0]], np.float32), 7)
    assert 2 * 255 * int(largest) <= np.iinfo(np.int16).max < 2 * 255 * (int(largest) + 2)


@pytest.mark.parametrize("bits", [7, 8])
def test_every_matrix_of_a_model_is_quantized(tmp_path: Path, bits: WeightBits) -> None:
    spec = transformer_spec(read_model_folder(save_model_folder(tmp_path / "model", untrained_model(TRANSFORMER))))
    quantize_spec(spec, bits)
    found = {name: value for name, value in spec.variables().items() if name.endswith("/weight")}
    assert len(found) == 14  # two embeddings, the head, four of the encoder's layer and seven of the decoder's
    for value in found.values():
        assert value.dtype == "int8"
        assert np.abs(value.numpy()).max() == 2 ** (bits - 1) - 1
