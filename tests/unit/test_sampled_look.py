"""What is told of bad data before training."""

from weft.data.corpus_statistics import SAMPLE_SIZE, ProblemSampler, SampledProblems
from weft.data.data_report import data_warnings

GOOD = ("A line of words.", "Eine Zeile.")
COPY = ("A line of words.", "A line of words.")
OTHER = ("A line of words.", "Это другой язык.")


def test_all_of_a_few_pairs_are_looked_at() -> None:
    look = ProblemSampler(100, target_only=False)
    look.add([GOOD] * 50 + [COPY] * 10, 0)
    look.add([GOOD] * 38 + [OTHER, ("", "x")], 60)
    assert look.summary() == SampledProblems(100, {"identical": 10, "script": 1, "empty": 1})


def test_some_of_many_are_looked_at_wherever_chunks_begin() -> None:
    pairs = [COPY if number % 10 == 0 else GOOD for number in range(5 * SAMPLE_SIZE)]
    whole, parts = ProblemSampler(len(pairs), target_only=False), ProblemSampler(len(pairs), target_only=False)
    whole.add(pairs, 0)
    for start in range(0, len(pairs), 4096):
        parts.add(pairs[start : start + 4096], start)
    assert parts.summary() == whole.summary()
    assert SAMPLE_SIZE * 0.8 < whole.summary().pairs <= SAMPLE_SIZE


def test_a_line_alone_is_no_copy() -> None:
    look = ProblemSampler(2, target_only=True)
    look.add([("", "A line."), ("", "caf\ufffd")], 0)
    assert look.summary() == SampledProblems(2, {"replacement": 1})


def test_only_what_is_serious_is_told() -> None:
    assert data_warnings(SampledProblems(100, {"identical": 1, "empty": 50})) == []
    told = data_warnings(SampledProblems(100, {"identical": 30, "control": 2}))
    assert told[0].startswith("warning: identical sides in 30.0% of the training data")
    assert told[1].startswith("warning: control characters in 2.0%")
    assert "weft check" in told[2]
