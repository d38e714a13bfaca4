"""Confidence intervals and p-values, compared with sacrebleu and with known values."""

from collections.abc import Mapping, Sequence
from random import Random
from typing import cast

import numpy as np
import pytest
from sacrebleu.metrics.bleu import BLEU
from sacrebleu.metrics.chrf import CHRF
from sacrebleu.metrics.ter import TER
from sacrebleu.significance import PairedTest, Result

from weft.metrics.corpus_metrics import METRICS, evaluate_with_intervals, metric_statistics
from weft.metrics.scores import Segments, SufficientStatistics
from weft.metrics.significance import BootstrapScores, approximate_randomization_p, bootstrap, paired_bootstrap_p

WORDS = ["a", "the", "man", "men", "walks", "dog", "is", "running", "street", "in", "on", "red"]
TRIALS = 400


def corrupted(line: str, share: float, draws: Random) -> str:
    return " ".join(draws.choice(WORDS) if draws.random() < share else word for word in line.split())


def corpus(lines: int, shares: Sequence[float]) -> tuple[list[str], list[list[str]]]:
    draws = Random(1)
    references = [" ".join(draws.choices(WORDS, k=draws.randrange(4, 12))) for _ in range(lines)]
    return references, [[corrupted(line, share, draws) for line in references] for share in shares]


REFERENCES, (FIRST, NEAR, FAR) = corpus(80, (0.3, 0.33, 0.6))
LINES = {"first": FIRST, "near": NEAR, "far": FAR}
ROWS = [[line] for line in REFERENCES]
SACREBLEU_METRICS = {"BLEU": BLEU(), "chrF2": CHRF(), "TER": TER()}
SACREBLEU_NAMES = {"bleu": "BLEU", "chrf": "chrF2", "ter": "TER"}


def statistics(system: str, metric: str) -> SufficientStatistics:
    return metric_statistics(Segments(LINES[system], ROWS), [metric])[metric]


def sacrebleu(test: str) -> Mapping[str, Sequence[Result]]:
    paired = PairedTest(
        list(LINES.items()), SACREBLEU_METRICS, references=[REFERENCES], test_type=test, n_samples=TRIALS
    )
    results = paired()[1]
    return {name: cast(Sequence[Result], results[key]) for name, key in SACREBLEU_NAMES.items()}


def test_bootstrap_matches_sacrebleu() -> None:
    for metric, (first, *others) in sacrebleu("bs").items():
        baseline = bootstrap(statistics("first", metric), TRIALS, 12345)
        assert first.ci == pytest.approx(baseline.interval().half_width(), abs=1e-3)
        for name, reference in zip(("near", "far"), others, strict=True):
            ours = bootstrap(statistics(name, metric), TRIALS, 12345)
            assert ours.score == pytest.approx(reference.score)
            assert ours.samples.mean() == pytest.approx(reference.mean, abs=1e-3)
            assert ours.interval().half_width() == pytest.approx(reference.ci, abs=1e-3)
            assert paired_bootstrap_p(baseline, ours) == pytest.approx(reference.p_value, abs=2 / TRIALS)


def test_approximate_randomization_matches_sacrebleu_within_sampling_error() -> None:
    for metric, (_, *others) in sacrebleu("ar").items():
        for name, reference in zip(("near", "far"), others, strict=True):
            p = approximate_randomization_p(statistics("first", metric), statistics(name, metric), TRIALS, 7)
            expected = cast(float, reference.p_value)
            assert abs(p - expected) <= 4 * np.sqrt(2 * max(expected * (1 - expected), 1 / TRIALS) / TRIALS), (
                metric,
                name,
            )


def test_system_does_not_differ_from_itself() -> None:
    for metric in ("bleu", "exact", "wer"):
        first = statistics("first", metric)
        assert approximate_randomization_p(first, first, 100, 1) == 1
        sampled = bootstrap(first, 100, 1)
        assert paired_bootstrap_p(sampled, sampled) == 1


def test_every_metric_finds_clear_differences() -> None:
    metrics = [name for name in METRICS if name not in ("exact", "repetition", "copy", "numbers", "addresses")]
    first, far = (metric_statistics(Segments(LINES[name], ROWS), metrics) for name in ("first", "far"))
    for name in metrics:
        assert approximate_randomization_p(first[name], far[name], 200, 1) < 0.01, name


def test_randomization_p_of_three_lines() -> None:
    """Of the eight ways to swap three lines, two have as large a difference: p is 0.25."""
    right, wrong = (metric_statistics(Segments([line] * 3, [["a"]] * 3), ["exact"])["exact"] for line in "ab")
    assert approximate_randomization_p(right, wrong, 20_000, 1) == pytest.approx(0.25, abs=0.015)


def test_interval_excludes_one_fortieth_on_each_side() -> None:
    interval = BootstrapScores(0.0, np.arange(1000.0)[::-1]).interval()
    assert interval == (25, 974)
    assert interval.half_width() == 474.5


def test_many_lines_are_shuffled_in_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("weft.metrics.significance.BLOCK_DRAWS", 240)
    p = approximate_randomization_p(statistics("first", "wer"), statistics("near", "wer"), 100, 1)
    assert 0.01 < p <= 1


def test_one_line_has_no_interval() -> None:
    (score,) = evaluate_with_intervals(Segments(["a"], [["a"]]), ["exact"])
    assert score.interval is None
    (score,) = evaluate_with_intervals(Segments(["a", "b"], [["a"], ["c"]]), ["exact"])
    assert score.interval == (0, 100)
