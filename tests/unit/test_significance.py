"""Intervals and p against sacrebleu's own, and where they are known."""

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
PEERS = {"BLEU": BLEU(), "chrF2": CHRF(), "TER": TER()}
SIGNED = {"bleu": "BLEU", "chrf": "chrF2", "ter": "TER"}


def counts(system: str, metric: str) -> SufficientStatistics:
    return metric_statistics(Segments(LINES[system], ROWS), [metric])[metric]


def sacrebleu(test: str) -> Mapping[str, Sequence[Result]]:
    paired = PairedTest(list(LINES.items()), PEERS, references=[REFERENCES], test_type=test, n_samples=TRIALS)
    results = paired()[1]
    return {name: cast(Sequence[Result], results[signed]) for name, signed in SIGNED.items()}


def test_the_bootstrap_is_sacrebleu_s() -> None:
    for metric, (first, *others) in sacrebleu("bs").items():
        baseline = bootstrap(counts("first", metric), TRIALS, 12345)
        assert first.ci == pytest.approx(baseline.interval().half_width(), abs=1e-3)
        for name, theirs in zip(("near", "far"), others, strict=True):
            ours = bootstrap(counts(name, metric), TRIALS, 12345)
            assert ours.score == pytest.approx(theirs.score)
            assert ours.samples.mean() == pytest.approx(theirs.mean, abs=1e-3)
            assert ours.interval().half_width() == pytest.approx(theirs.ci, abs=1e-3)
            assert paired_bootstrap_p(baseline, ours) == pytest.approx(theirs.p_value, abs=2 / TRIALS)


def test_approximate_randomisation_is_sacrebleu_s_within_sampling_error() -> None:
    for metric, (_, *others) in sacrebleu("ar").items():
        for name, theirs in zip(("near", "far"), others, strict=True):
            p = approximate_randomization_p(counts("first", metric), counts(name, metric), TRIALS, 7)
            wanted = cast(float, theirs.p_value)
            assert abs(p - wanted) <= 4 * np.sqrt(2 * max(wanted * (1 - wanted), 1 / TRIALS) / TRIALS), (metric, name)


def test_a_system_does_not_differ_from_itself() -> None:
    for metric in ("bleu", "exact", "wer"):
        one = counts("first", metric)
        assert approximate_randomization_p(one, one, 100, 1) == 1
        sampled = bootstrap(one, 100, 1)
        assert paired_bootstrap_p(sampled, sampled) == 1


def test_clear_differences_are_found_by_every_metric() -> None:
    wanted = [name for name in METRICS if name not in ("exact", "repetition", "copy", "numbers", "addresses")]
    first, far = (metric_statistics(Segments(LINES[name], ROWS), wanted) for name in ("first", "far"))
    for name in wanted:
        assert approximate_randomization_p(first[name], far[name], 200, 1) < 0.01, name


def test_the_exact_test_of_a_few_lines() -> None:
    """Three lines right here and wrong there: of the eight ways to change sides, two have as large a difference."""
    right, wrong = (metric_statistics(Segments([line] * 3, [["a"]] * 3), ["exact"])["exact"] for line in "ab")
    assert approximate_randomization_p(right, wrong, 20_000, 1) == pytest.approx(0.25, abs=0.015)


def test_an_interval_leaves_out_a_fortieth_on_either_side() -> None:
    interval = BootstrapScores(0.0, np.arange(1000.0)[::-1]).interval()
    assert interval == (25, 974)
    assert interval.half_width() == 474.5


def test_many_lines_are_shuffled_in_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("weft.metrics.significance.BLOCK_DRAWS", 240)
    p = approximate_randomization_p(counts("first", "wer"), counts("near", "wer"), 100, 1)
    assert 0.01 < p <= 1


def test_one_line_has_no_interval() -> None:
    (one,) = evaluate_with_intervals(Segments(["a"], [["a"]]), ["exact"])
    assert one.interval is None
    (two,) = evaluate_with_intervals(Segments(["a", "b"], [["a"], ["c"]]), ["exact"])
    assert two.interval == (0, 100)
