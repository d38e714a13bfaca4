"""Compare METEOR with nltk without WordNet, and test its alignment."""

from collections import Counter
from collections.abc import Callable, Sequence
from itertools import permutations
from pathlib import Path
from random import Random

import pytest
from nltk.stem.porter import PorterStemmer
from nltk.translate.meteor_score import single_meteor_score

from weft.core.errors import UserError
from weft.metrics.corpus_metrics import evaluate, metric_statistics
from weft.metrics.meteor import align_unigrams, read_synonyms
from weft.metrics.scores import MetricOptions, Segments, SufficientStatistics

WORDS = [
    "a",
    "the",
    "man",
    "men",
    "walks",
    "walked",
    "walking",
    "dog",
    "dogs",
    "is",
    "running",
    "runs",
    "street",
    "quickly",
    "in",
    "on",
    "red",
    "happily",
    "house",
]


def meteor(output: str, references: list[str], options: MetricOptions | None = None) -> float:
    (score,) = evaluate(Segments([output], [references]), ["meteor"], options or MetricOptions(tokenize="none"))
    return score.value


def identity(word: str) -> frozenset[object]:
    return frozenset([word])


class EmptyWordNet:
    """A WordNet without words."""

    def synsets(self, word: str) -> list[object]:
        return []


def nltk_meteor(output: str, reference: str) -> float:
    """Use the stems of Porter's paper; nltk's default adds rules of its own."""
    porter = PorterStemmer(mode="ORIGINAL_ALGORITHM")
    return float(100 * single_meteor_score(reference.split(), output.split(), stemmer=porter, wordnet=EmptyWordNet()))


def random_pairs(line: Callable[[], list[str]]) -> list[tuple[str, str]]:
    """Return 200 pairs of an output and a reference."""
    return [(" ".join(line()), " ".join(line())) for _ in range(200)]


def meteor_statistics(pairs: list[tuple[str, str]]) -> SufficientStatistics:
    """Return the sufficient statistics of pairs of an output and a reference."""
    lines = Segments([output for output, _ in pairs], [[reference] for _, reference in pairs])
    return metric_statistics(lines, ["meteor"], MetricOptions(tokenize="none"))["meteor"]


def scores_of_both(pairs: list[tuple[str, str]]) -> list[tuple[float, float]]:
    """Return our score and nltk's for each pair of an output and a reference."""
    ours = meteor_statistics(pairs).sentence_scores().tolist()
    return [(score, nltk_meteor(*pair)) for score, pair in zip(ours, pairs, strict=True)]


def count_chunks(places: Sequence[int | None]) -> int:
    pairs = zip((None, *places), places, strict=False)
    return sum(place is not None and (before is None or before != place - 1) for before, place in pairs)


def nltk_chunks(output: str, reference: str) -> int:
    """Return the chunks of nltk's alignment: from the last word on, each gets the last free match."""
    places: list[int | None] = [None] * len(output.split())
    free = dict(enumerate(reference.split()))
    stem = PorterStemmer(mode="ORIGINAL_ALGORITHM").stem
    for normalize in (str.lower, stem):
        for index, word in reversed(list(enumerate(output.split()))):
            matches = (place for place in sorted(free, reverse=True) if normalize(free[place]) == normalize(word))
            if places[index] is None and (place := next(matches, None)) is not None:
                places[index] = place
                del free[place]
    return count_chunks(places)


def test_score_matches_nltk_without_repeated_words() -> None:
    draws = Random(1)
    pairs = random_pairs(lambda: draws.sample(WORDS, draws.randrange(1, 12)))
    for ours, theirs in scores_of_both(pairs):
        assert ours == pytest.approx(theirs, abs=0.1)  # of 100


def test_score_with_repeated_words_is_at_least_that_of_nltk() -> None:
    """nltk takes the last free match; METEOR, and ours, the alignment with the fewest chunks."""
    draws = Random(2)
    pairs = random_pairs(lambda: draws.choices(WORDS[:8], k=draws.randrange(1, 12)))
    scores = scores_of_both(pairs)
    assert all(ours >= theirs - 1e-3 for ours, theirs in scores)
    assert sum(ours > theirs + 0.1 for ours, theirs in scores) > 20
    counts = meteor_statistics(pairs)
    for pair, row, (_, theirs) in zip(pairs, counts.rows, scores, strict=True):
        row[3] = nltk_chunks(*pair)  # with the chunks of its alignment, the score is nltk's
        assert counts.compute(row) == pytest.approx(theirs, abs=0.1), pair
    assert meteor("a b a", ["a b"]) > nltk_meteor("a b a", "a b")  # one chunk; nltk takes the second a: two chunks


def test_score_matches_the_formula() -> None:
    precision, recall, chunks, matches = 3 / 4, 3 / 5, 2, 3
    mean = precision * recall / (0.9 * precision + 0.1 * recall)
    expected = 100 * mean * (1 - 0.5 * (chunks / matches) ** 3)
    assert meteor("the cat sat x", ["the cat has sat down"]) == pytest.approx(expected)


def test_statistics_are_summed_over_lines() -> None:
    (score,) = evaluate(Segments(["the cat", "x"], [["the cat"], ["y z"]]), ["meteor"])
    assert dict(score.counts) == {"matches": 2, "output words": 3, "reference words": 4, "chunks": 1}
    assert "stem:porter|syn:none|a:0.9|b:3|g:0.5" in score.signature


def test_case_is_ignored_and_the_best_reference_counts() -> None:
    assert meteor("The Cat", ["a dog", "the cat"]) == meteor("the cat", ["the cat"])


def test_empty_lines() -> None:
    assert meteor("", [""]) == 100
    assert meteor("a", [""]) == meteor("", ["a"]) == 0


def test_stemmers_of_other_languages() -> None:
    assert meteor("häuser", ["haus"], MetricOptions(tokenize="none", stem="german")) == meteor("haus", ["haus"])
    assert meteor("häuser", ["haus"]) == 0
    with pytest.raises(UserError, match='unknown stemmer "germann"; did you mean "german"'):
        meteor("a", ["a"], MetricOptions(stem="germann"))


def test_synonyms_from_a_file(tmp_path: Path) -> None:
    file = tmp_path / "synonyms"
    file.write_text("big Large huge\nbank shore\nbank institute\n", "utf-8")
    known = MetricOptions(tokenize="none", synonyms=read_synonyms(file))
    assert meteor("a large bank", ["a big shore"], known) == meteor("a big bank", ["a big bank"])
    assert meteor("shore", ["institute"], known) == 0  # each is a synonym of bank, but not of the other
    (score,) = evaluate(Segments(["a"], [["a"]]), ["meteor"], known)
    assert "syn:synonyms|" in score.signature


def test_file_without_synonyms_is_rejected(tmp_path: Path) -> None:
    (tmp_path / "empty").write_text("\n \n")
    with pytest.raises(UserError, match="empty: contains no words"):
        read_synonyms(tmp_path / "empty")


def most_matches_fewest_chunks(output: str, reference: str) -> tuple[int, int]:
    """Brute force over all alignments of the output's letters."""
    places = [*range(len(reference)), *[None] * len(output)]
    alignments = (
        alignment
        for alignment in set(permutations(places, len(output)))
        if all(place is None or reference[place] == letter for letter, place in zip(output, alignment, strict=True))
    )
    return min((-sum(place is not None for place in alignment), count_chunks(alignment)) for alignment in alignments)


def test_alignment_has_most_matches_then_fewest_chunks() -> None:
    draws = Random(3)
    for _ in range(60):
        output, reference = ("".join(draws.choices("ab", k=draws.randrange(1, 5))) for _ in range(2))
        alignment = align_unigrams(output, reference, [identity])
        found = -sum(place is not None for place in alignment.positions), alignment.chunks
        assert found == most_matches_fewest_chunks(output, reference), (output, reference)


def test_long_lines_have_all_matches_and_exact_matches_first() -> None:
    draws = Random(4)
    for _ in range(12):
        output, reference = (draws.choices(WORDS[3:8], k=draws.randrange(5, 45)) for _ in range(2))
        places = align_unigrams(output, reference, [identity, lambda word: frozenset([word[:3]])]).positions
        found = [(word, reference[place]) for word, place in zip(output, places, strict=True) if place is not None]
        stems = (Counter(word[:3] for word in line) for line in (output, reference))
        assert len(found) == len({place for place in places if place is not None})
        assert len(found) == overlap(*stems), (output, reference)
        assert sum(word == match for word, match in found) == overlap(Counter(output), Counter(reference))


def overlap(first: Counter[str], second: Counter[str]) -> int:
    return (first & second).total()


def test_later_stage_matches_only_remaining_words() -> None:
    stem = dict(zip(WORDS, [word[:3] for word in WORDS], strict=True))
    by_stem = [identity, lambda word: frozenset([stem[word]])]
    assert align_unigrams(["walks", "walked"], ["walked"], by_stem).positions == (None, 0)
    assert align_unigrams(["walks"], ["walked"], [identity]).positions == (None,)
