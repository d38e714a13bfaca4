"""Confidence: from scores to the probability that a translation is good."""

import json
import math
from pathlib import Path
from random import Random

import numpy as np
import pytest

from unit.models import BAHDANAU, saved, untrained
from weft.checkpoints.manifest import check_manifest
from weft.checkpoints.model_extras import load_calibration
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


def made_up(count: int, seed: int = 1) -> tuple[list[tuple[float, int]], list[bool]]:
    """Outputs that are good as probably as TRUE says."""
    draws = Random(seed)
    scored = [(-tokens * draws.expovariate(1.5), tokens) for tokens in (draws.randint(1, 40) for _ in range(count))]
    return scored, [draws.random() < (TRUE(*one) or 0) for one in scored]


def test_the_true_numbers_are_found() -> None:
    scored, good = made_up(20_000)
    fitted = fit_logistic(calibration_features(scored), np.array(good, float))
    assert fitted == pytest.approx(TRUE, abs=0.15)
    said = sigmoid(calibration_features(scored) @ np.array(fitted))
    gradient = calibration_features(scored).T @ (np.array(good, float) - said)  # 0 where the likelihood is highest
    assert np.abs(gradient).max() < 0.01


def test_the_error_is_that_of_lines_held_out() -> None:
    found = fit_calibration(*made_up(2_000))
    assert found.error < 0.05
    assert sum(one.lines for one in found.bins) == found.lines == 2_000
    fifths = fit_calibration([(-1.0, 1)] * 40, [number % 5 == 0 for number in range(40)])
    assert fifths.error == pytest.approx(0.2 * 1.0 + 0.8 * 0.25, abs=0.01)  # fitted to the very lines, it would be 0


def test_the_error_by_hand() -> None:
    bins = bin_confidences(np.array([0.05, 0.15, 0.15, 1.0]), np.array([0.0, 1.0, 0.0, 1.0]))
    assert bins == (CalibrationBin(1, 0.05, 0.0), CalibrationBin(2, 0.15, 0.5), CalibrationBin(1, 1.0, 1.0))
    assert expected_calibration_error(bins) == pytest.approx(0.25 * 0.05 + 0.5 * 0.35)


def test_a_higher_score_never_means_less() -> None:
    scored, good = made_up(300)
    upside_down = fit_logistic(calibration_features(scored), 1 - np.array(good, float))
    assert upside_down.slope == 0.0
    assert fit_calibration(scored, good).calibration.slope > 0


def test_lines_that_can_be_told_apart_perfectly() -> None:
    found = fit_calibration([(-float(number), 1) for number in range(40)], [number < 20 for number in range(40)])
    assert all(map(math.isfinite, found.calibration))
    assert (found.calibration(-1.0, 1) or 0) > 0.9 > 0.1 > (found.calibration(-39.0, 1) or 0)
    assert found.calibration(-math.inf, 1) is None


@pytest.fixture
def files(tmp_path: Path) -> list[Path]:
    draws = Random(1)
    lines = ["".join(draws.choices("abcde", k=draws.randint(1, 8))) for _ in range(30)]
    paths = [tmp_path / "valid.en", tmp_path / "valid.de"]
    for path in paths:
        path.write_text("".join(f"{line}\n" for line in lines), "utf-8")
    return paths


def test_a_model_keeps_it_and_tells_its_confidence(tmp_path: Path, files: list[Path]) -> None:
    folder = saved(tmp_path / "model", untrained(BAHDANAU))
    translator = load_translator(folder)
    assert "confidence" not in translator.translate(["abc"])[0].record()
    texts = [one.text for one in translator.translate(files[0].read_text("utf-8").split("\n")[:-1])]
    files[1].write_text("".join(f"{text if n % 2 else 'zz'}\n" for n, text in enumerate(texts)), "utf-8")
    for good in (QualityCriterion(None), QualityCriterion(60.0)):
        found = calibrate_model(translator, folder, files, good)
        assert found.good == pytest.approx(0.5, abs=0.1)
        assert f"of them good ({good})" in format_calibration(found, good)
    check_manifest(folder)
    assert load_calibration(folder) == pytest.approx(found.calibration)
    told = f"calibrated confidence: good is chrF 60 or more; learned from 30 lines, calibration error {found.error:.4f}"
    assert told in describe_model(folder)
    again = load_translator(folder)
    one, blank = again.translate(["abc", ""])
    assert one.text == translator.translate(["abc"])[0].text
    assert 0 < json.loads(json.dumps(one.record()))["confidence"] < 1
    assert blank.confidence is None
    assert load_translator(folder, ensemble=EnsembleOptions((folder,))).translate(["abc"])[0].confidence is None


def test_mistakes(tmp_path: Path, files: list[Path]) -> None:
    folder = saved(tmp_path / "model", untrained(BAHDANAU))
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
