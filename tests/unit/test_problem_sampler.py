"""Warnings about bad training data, from a sample of the pairs."""

from weft.data.checks.pair_problems import SAMPLE_SIZE, ProblemSampler, SampledProblems
from weft.data.data_report import data_warnings

GOOD = ("A line of words.", "Eine Zeile.")
COPY = ("A line of words.", "A line of words.")
OTHER = ("A line of words.", "Это другой язык.")


def test_small_corpus_is_checked_completely() -> None:
    sampler = ProblemSampler(100, target_only=False)
    sampler.add([GOOD] * 50 + [COPY] * 10, 0)
    sampler.add([GOOD] * 38 + [OTHER, ("", "x")], 60)
    assert sampler.summary() == SampledProblems(100, {"identical": 10, "script": 1, "empty": 1})


def test_sample_does_not_depend_on_chunk_boundaries() -> None:
    pairs = [COPY if number % 10 == 0 else GOOD for number in range(5 * SAMPLE_SIZE)]
    whole, parts = ProblemSampler(len(pairs), target_only=False), ProblemSampler(len(pairs), target_only=False)
    whole.add(pairs, 0)
    for start in range(0, len(pairs), 4096):
        parts.add(pairs[start : start + 4096], start)
    assert parts.summary() == whole.summary()
    assert SAMPLE_SIZE * 0.8 < whole.summary().pairs <= SAMPLE_SIZE


def test_monolingual_lines_are_not_identical_sides() -> None:
    sampler = ProblemSampler(2, target_only=True)
    sampler.add([("", "A line."), ("", "caf\ufffd")], 0)
    assert sampler.summary() == SampledProblems(2, {"replacement": 1})


def test_only_serious_problems_are_reported() -> None:
    assert data_warnings(SampledProblems(100, {"identical": 1, "empty": 50})) == []
    warnings = data_warnings(SampledProblems(100, {"identical": 30, "control": 2}))
    assert warnings[0].startswith("warning: identical sides in 30.0% of the training data")
    assert warnings[1].startswith("warning: control characters in 2.0%")
    assert "weft check" in warnings[2]
