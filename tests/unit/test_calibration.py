"""Calibration: from scores to the probability that a translation is good."""

import json
import math
from pathlib import Path
from random import Random

import numpy as np
import pytest

from unit.models import BAHDANAU, save_model_folder, untrained_model
from weft.checkpoints.manifest import check_manifest
from weft.checkpoints.model_folder import load_calibration
from weft.core.errors import UserError
from weft.inference.ensemble import EnsembleOptions
from weft.inference.evaluation import QualityCriterion, calibrate_model, format_calibration
from weft.inference.loader import load_translator
from weft.inference.model_summary import describe_model
from weft.metrics.calibration import (
    Calibration,
    CalibrationBin,
    bin_confidences,
    calibration_features,
    expected_calibration_error,
    fit_calibration,
    fit_logistic,
    sigmoid,
)

TRUE = Calibration(2.0, 3.0, -0.4)


def sample_outputs(count: int, seed: int = 1) -> tuple[list[tuple[float, int]], list[bool]]:
    """Return scored outputs, and whether each is good, drawn with the probabilities of TRUE."""
    rng = Random(seed)
    outputs = [(-tokens * rng.expovariate(1.5), tokens) for tokens in (rng.randint(1, 40) for _ in range(count))]
    return outputs, [rng.random() < (TRUE(*output) or 0) for output in outputs]


def test_fit_recovers_true_parameters() -> None:
    scored, good = sample_outputs(20_000)
    fitted = fit_logistic(calibration_features(scored), np.array(good, float))
    assert fitted == pytest.approx(TRUE, abs=0.15)
    predicted = sigmoid(calibration_features(scored) @ np.array(fitted))
    gradient = calibration_features(scored).T @ (np.array(good, float) - predicted)  # zero at the maximum likelihood
    assert np.abs(gradient).max() < 0.01


def test_error_is_measured_on_held_out_lines() -> None:
    found = fit_calibration(*sample_outputs(2_000))
    assert found.error < 0.05
    assert sum(calibration_bin.lines for calibration_bin in found.bins) == found.lines == 2_000
    periodic = fit_calibration([(-1.0, 1)] * 40, [number % 5 == 0 for number in range(40)])
    assert periodic.error == pytest.approx(0.2 * 1.0 + 0.8 * 0.25, abs=0.01)  # 0 if measured on the fitted lines


def test_expected_calibration_error_by_hand() -> None:
    bins = bin_confidences(np.array([0.05, 0.15, 0.15, 1.0]), np.array([0.0, 1.0, 0.0, 1.0]))
    assert bins == (CalibrationBin(1, 0.05, 0.0), CalibrationBin(2, 0.15, 0.5), CalibrationBin(1, 1.0, 1.0))
    assert expected_calibration_error(bins) == pytest.approx(0.25 * 0.05 + 0.5 * 0.35)


def test_slope_is_never_negative() -> None:
    scored, good = sample_outputs(300)
    inverted = fit_logistic(calibration_features(scored), 1 - np.array(good, float))
    assert inverted.slope == 0.0
    assert fit_calibration(scored, good).calibration.slope > 0


def test_separable_data_gives_finite_parameters() -> None:
    found = fit_calibration([(-float(number), 1) for number in range(40)], [number < 20 for number in range(40)])
    assert all(map(math.isfinite, found.calibration))
    assert (found.calibration(-1.0, 1) or 0) > 0.9 > 0.1 > (found.calibration(-39.0, 1) or 0)
    assert found.calibration(-math.inf, 1) is None


@pytest.fixture
def files(tmp_path: Path) -> list[Path]:
    rng = Random(1)
    lines = ["".join(rng.choices("abcde", k=rng.randint(1, 8))) for _ in range(30)]
    paths = [tmp_path / "valid.en", tmp_path / "valid.de"]
    for path in paths:
        path.write_text("".join(f"{line}\n" for line in lines), "utf-8")
    return paths


def test_calibrated_model_reports_confidence(tmp_path: Path, files: list[Path]) -> None:
    folder = save_model_folder(tmp_path / "model", untrained_model(BAHDANAU))
    translator = load_translator(folder)
    assert "confidence" not in translator.translate(["abc"])[0].record()
    texts = [translation.text for translation in translator.translate(files[0].read_text("utf-8").split("\n")[:-1])]
    files[1].write_text("".join(f"{text if n % 2 else 'zz'}\n" for n, text in enumerate(texts)), "utf-8")
    for good in (QualityCriterion(None), QualityCriterion(60.0)):
        found = calibrate_model(translator, folder, files, good)
        assert found.good == pytest.approx(0.5, abs=0.1)
        assert f"of them good ({good})" in format_calibration(found, good)
    check_manifest(folder)
    assert load_calibration(folder) == pytest.approx(found.calibration)
    summary = (
        f"calibrated confidence: good is chrF 60 or more; learned from 30 lines, calibration error {found.error:.4f}"
    )
    assert summary in describe_model(folder)
    reloaded = load_translator(folder)
    translation, blank = reloaded.translate(["abc", ""])
    assert translation.text == translator.translate(["abc"])[0].text
    assert 0 < json.loads(json.dumps(translation.record()))["confidence"] < 1
    assert blank.confidence is None
    assert load_translator(folder, ensemble=EnsembleOptions((folder,))).translate(["abc"])[0].confidence is None


def test_invalid_calibration_is_rejected(tmp_path: Path, files: list[Path]) -> None:
    folder = save_model_folder(tmp_path / "model", untrained_model(BAHDANAU))
    translator = load_translator(folder)
    with pytest.raises(UserError, match=r"all of the 30 translations are good \(chrF 0.*set another --min-chrf"):
        calibrate_model(translator, folder, files, QualityCriterion(0.0))
    files[1].write_text("zz\n" * 30, "utf-8")
    with pytest.raises(UserError, match="none of the 30 translations are good"):
        calibrate_model(translator, folder, files, QualityCriterion(None))
    with pytest.raises(UserError, match="3 lines are too few for calibration: at least 20"):
        fit_calibration([(-1.0, 2)] * 3, [True, False, True])
    assert load_calibration(folder) is None
    assert "confidence" not in describe_model(folder).split("\n\n")[0]
    check_manifest(folder)
    for content in ('{"good": "x"}', "[]", "{"):
        (folder / "confidence.json").write_text(content, "utf-8")
        with pytest.raises(UserError, match=r"confidence\.json: is damaged.*copy"):
            load_calibration(folder)
