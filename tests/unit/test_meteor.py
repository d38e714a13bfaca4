"""METEOR against nltk's, of which its WordNet is left out; and its alignment."""

from collections import Counter
from collections.abc import Callable
from itertools import permutations
from pathlib import Path
from random import Random

import pytest
from nltk.stem.porter import PorterStemmer
from nltk.translate.meteor_score import single_meteor_score

from weft.core.errors import UserError
from weft.metrics.corpus_metrics import evaluate, metric_statistics
from weft.metrics.meteor import align_unigrams, count_chunks, read_synonyms
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
    (score,) = evaluate([output], [references], ["meteor"], options or MetricOptions(tokenize="none"))
    return score.value


def same(word: str) -> frozenset[object]:
    return frozenset([word])


class Mute:
    """A WordNet that knows no word."""

    def synsets(self, word: str) -> list[object]:
        return []


def nltk_meteor(output: str, reference: str) -> float:
    """With the stems of Porter's paper: nltk's default has rules of its own beside them."""
    porter = PorterStemmer(mode="ORIGINAL_ALGORITHM")
    return float(100 * single_meteor_score(reference.split(), output.split(), stemmer=porter, wordnet=Mute()))


def drawn(line: Callable[[], list[str]]) -> list[tuple[str, str]]:
    """200 pairs of an output and a reference."""
    return [(" ".join(line()), " ".join(line())) for _ in range(200)]


def counted(pairs: list[tuple[str, str]]) -> SufficientStatistics:
    """What METEOR counts in pairs of an output and a reference."""
    lines = Segments([output for output, _ in pairs], [[reference] for _, reference in pairs])
    return metric_statistics(lines, ["meteor"], MetricOptions(tokenize="none"))["meteor"]


def both(pairs: list[tuple[str, str]]) -> list[tuple[float, float]]:
    """Our score and nltk's of each output and reference."""
    ours = counted(pairs).sentence_scores().tolist()
    return [(score, nltk_meteor(*pair)) for score, pair in zip(ours, pairs, strict=True)]


def in_nltk_s_order(output: str, reference: str) -> int:
    """The chunks of nltk's alignment, in which each word, from the last on, gets the last place that is free."""
    places: list[int | None] = [None] * len(output.split())
    free = dict(enumerate(reference.split()))
    stem = PorterStemmer(mode="ORIGINAL_ALGORITHM").stem
    for same_as in (str.lower, stem):
        for at, word in reversed(list(enumerate(output.split()))):
            wanted = (place for place in sorted(free, reverse=True) if same_as(free[place]) == same_as(word))
            if places[at] is None and (place := next(wanted, None)) is not None:
                places[at] = place
                del free[place]
    return count_chunks(tuple(places))


def test_it_is_nltk_s_where_no_word_comes_twice() -> None:
    draws = Random(1)
    pairs = drawn(lambda: draws.sample(WORDS, draws.randrange(1, 12)))
    for ours, theirs in both(pairs):
        assert ours == pytest.approx(theirs, abs=0.1)  # of 100


def test_where_words_come_twice_it_is_never_below_nltk_s() -> None:
    """nltk gives each word the last that is free; we find the alignment with the fewest pieces, as METEOR itself."""
    draws = Random(2)
    pairs = drawn(lambda: draws.choices(WORDS[:8], k=draws.randrange(1, 12)))
    scores = both(pairs)
    assert all(ours >= theirs - 1e-3 for ours, theirs in scores)
    assert sum(ours > theirs + 0.1 for ours, theirs in scores) > 20
    counts = counted(pairs)
    for pair, row, (_, theirs) in zip(pairs, counts.rows, scores, strict=True):
        row[3] = in_nltk_s_order(*pair)  # with the pieces of its alignment, the score is nltk's: nothing else differs
        assert counts.compute(row) == pytest.approx(theirs, abs=0.1), pair
    assert meteor("a b a", ["a b"]) > nltk_meteor("a b a", "a b")  # one piece: nltk takes the second a, which makes two


def test_the_formula() -> None:
    precision, recall, chunks, matches = 3 / 4, 3 / 5, 2, 3
    mean = precision * recall / (0.9 * precision + 0.1 * recall)
    wanted = 100 * mean * (1 - 0.5 * (chunks / matches) ** 3)
    assert meteor("the cat sat x", ["the cat has sat down"]) == pytest.approx(wanted)


def test_lines_are_counted_together() -> None:
    (score,) = evaluate(["the cat", "x"], [["the cat"], ["y z"]], ["meteor"])
    assert dict(score.counts) == {"matches": 2, "output words": 3, "reference words": 4, "chunks": 1}
    assert "stem:porter|syn:none|a:0.9|b:3|g:0.5" in score.signature


def test_case_never_counts_and_the_best_reference_does() -> None:
    assert meteor("The Cat", ["a dog", "the cat"]) == meteor("the cat", ["the cat"])


def test_nothing_beside_nothing_is_right() -> None:
    assert meteor("", [""]) == 100
    assert meteor("a", [""]) == meteor("", ["a"]) == 0


def test_stems_of_other_languages() -> None:
    assert meteor("häuser", ["haus"], MetricOptions(tokenize="none", stem="german")) == meteor("haus", ["haus"])
    assert meteor("häuser", ["haus"]) == 0
    with pytest.raises(UserError, match="unknown stemmer 'germann': did you mean 'german'"):
        meteor("a", ["a"], MetricOptions(stem="germann"))


def test_synonyms_from_a_file(tmp_path: Path) -> None:
    file = tmp_path / "synonyms"
    file.write_text("big Large huge\nbank shore\nbank institute\n", "utf-8")
    known = MetricOptions(tokenize="none", synonyms=read_synonyms(file))
    assert meteor("a large bank", ["a big shore"], known) == meteor("a big bank", ["a big bank"])
    assert meteor("shore", ["institute"], known) == 0  # each is like a bank, but they are not like each other
    (score,) = evaluate(["a"], [["a"]], ["meteor"], known)
    assert "syn:synonyms|" in score.signature


def test_a_file_without_synonyms_is_refused(tmp_path: Path) -> None:
    (tmp_path / "empty").write_text("\n \n")
    with pytest.raises(UserError, match="empty: contains no words"):
        read_synonyms(tmp_path / "empty")


def most_matches_fewest_chunks(output: str, reference: str) -> tuple[int, int]:
    """Every way to give the letters of the output a place, or none."""
    places = [*range(len(reference)), *[None] * len(output)]
    ways = (
        way
        for way in set(permutations(places, len(output)))
        if all(place is None or reference[place] == letter for letter, place in zip(output, way, strict=True))
    )
    return min((-sum(place is not None for place in way), count_chunks(way)) for way in ways)


def test_the_alignment_has_the_most_matches_and_of_these_the_fewest_chunks() -> None:
    draws = Random(3)
    for _ in range(60):
        output, reference = ("".join(draws.choices("ab", k=draws.randrange(1, 5))) for _ in range(2))
        places = align_unigrams(output, reference, [same])
        found = -sum(place is not None for place in places), count_chunks(places)
        assert found == most_matches_fewest_chunks(output, reference), (output, reference)


def test_long_lines_of_few_words_have_all_matches_and_equal_words_first() -> None:
    draws = Random(4)
    for _ in range(12):
        output, reference = (draws.choices(WORDS[3:8], k=draws.randrange(5, 45)) for _ in range(2))
        places = align_unigrams(output, reference, [same, lambda word: frozenset([word[:3]])])
        found = [(word, reference[place]) for word, place in zip(output, places, strict=True) if place is not None]
        stems = (Counter(word[:3] for word in line) for line in (output, reference))
        assert len(found) == len({place for place in places if place is not None})
        assert len(found) == min_of(*stems), (output, reference)
        assert sum(one == other for one, other in found) == min_of(Counter(output), Counter(reference))


def min_of(one: Counter[str], other: Counter[str]) -> int:
    return (one & other).total()


def test_a_later_stage_takes_only_what_is_left() -> None:
    stem = dict(zip(WORDS, [word[:3] for word in WORDS], strict=True))
    assert align_unigrams(["walks", "walked"], ["walked"], [same, lambda word: frozenset([stem[word]])]) == (None, 0)
    assert align_unigrams(["walks"], ["walked"], [same]) == (None,)
