"""Outputs that are made of the words of a list."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from unit.untrained import SENTENCE, untrained
from weft.core.errors import UserError
from weft.core.marks import BEGIN, END, FIRST_PIECE
from weft.core.padded import Padded
from weft.core.state import Scores, State, Step
from weft.engine.reading import spelling, words_of
from weft.search.beam import Beam
from weft.search.exhaustive import Exhaustive
from weft.search.forced import forced_scores
from weft.search.greedy import Greedy
from weft.search.guides.listed import ListedWords, of_words
from weft.search.rankings import NoPenalty
from weft.search.role import Search
from weft.search.words import Words, read_words
from weft.text.learners import Character

LETTERS = "ab "
SIZE = FIRST_PIECE + len(LETTERS)


def spell(text: str) -> list[int]:
    return [FIRST_PIECE + LETTERS.index(letter) for letter in text]


def shown(tokens: Sequence[int]) -> str:
    return "".join(LETTERS[token - FIRST_PIECE] for token in tokens)


def listed(*words: str) -> ListedWords:
    return ListedWords(Words([spell(word) for word in words], spell(" "), SIZE))


def table(seed: int) -> Step:
    """A step that knows its last token only."""
    log_probs = torch.randn(SIZE, SIZE, generator=torch.Generator().manual_seed(seed)).mul(3).log_softmax(1)

    def step(tokens: Tensor, state: State) -> tuple[Scores, State]:
        return Scores(log_probs[tokens], None), state

    return step


def found(search: Search, seed: int, words: ListedWords, limits: Sequence[int]) -> list[list[str]]:
    limit = torch.tensor(limits)
    step, state = of_words(table(seed), State((), torch.zeros(len(limits), 1)), words, limit)
    return [[shown(one.tokens) for one in best] for best in search(step, state, limit, torch.arange(len(limits)))]


@settings(max_examples=25, deadline=None)
@given(
    st.sets(st.text("ab", min_size=1, max_size=4), min_size=1, max_size=5),
    st.integers(0, 10**6),
    st.lists(st.integers(0, 9), min_size=1, max_size=4),
)
def test_every_output_is_made_of_the_words_and_there_always_is_one(
    words: set[str], seed: int, limits: list[int]
) -> None:
    for search in (Greedy(), Beam(size=3, best=3)):
        for outputs, limit in zip(found(search, seed, listed(*words), limits), limits, strict=True):
            assert outputs
            assert all(not text or set(text.split(" ")) <= words for text in outputs)
            assert all(len(text) <= limit for text in outputs)


def test_the_best_output_is_the_best_of_those_that_are_made_of_the_words() -> None:
    words = ["a", "ab", "bb"]
    for seed in range(20):
        texts = ["", *words, *(f"{one} {other}" for one in words for other in words)]
        texts = [text for text in texts if len(text) <= 4]
        scores = [
            forced_scores(table(seed), State((), torch.zeros(1, 1)), Padded.of([[*spell(text), END]]))[0].score
            for text in texts
        ]
        best = texts[scores.index(max(scores))]
        assert found(Exhaustive(length_penalty=NoPenalty), seed, listed(*words), [4])[0][0] == best


def test_scores_stay_those_of_the_model() -> None:
    limit = torch.tensor([6])
    step, state = of_words(table(3), State((), torch.zeros(1, 1)), listed("ab", "ba"), limit)
    [[best]] = Greedy()(step, state, limit, torch.arange(1))
    (plain,) = forced_scores(table(3), State((), torch.zeros(1, 1)), Padded.of([[*best.tokens, END]]))
    assert best.score == pytest.approx(plain.score)


def test_a_word_that_would_not_fit_is_not_begun() -> None:
    words = listed("a", "abb")
    start = torch.tensor([words.start])
    after = words.after(words.after(start, torch.tensor([BEGIN])), torch.tensor(spell("a")))
    b, end = spell("b")[0], END
    assert [words.allowed(after, torch.tensor([left]))[0, [b, end]].tolist() for left in (1, 2)] == [
        [False, True],
        [True, True],
    ]


def test_whole_words_follow_each_other_at_once() -> None:
    words = ListedWords(Words([[3], [4, 5]], (), SIZE))
    after = words.after(torch.tensor([words.start, words.start]), torch.tensor([3, 4]))
    assert words.allowed(after, torch.tensor([2, 2])).nonzero().tolist() == [[0, END], [0, 3], [0, 4], [1, 5]]
    assert words.allowed(after, torch.tensor([1, 1])).nonzero().tolist() == [[0, END], [0, 3], [1, 5]]


def test_a_translator_says_words_of_its_list(tmp_path: Path) -> None:
    file = tmp_path / "words.txt"
    file.write_text("cat\ndog\n", "utf-8")
    free = untrained("transformer", Beam(size=4, best=4))
    held = replace(free, words=words_of(free.trained, str(file)))
    texts = [one.text for translator in (free, held) for one in translator.translate([SENTENCE])[0].alternatives]
    assert not set(" ".join(texts[:4]).split()) <= {"cat", "dog"}
    assert set(" ".join(texts[4:]).split()) == {"cat", "dog"}


def test_a_list_that_is_not_there_is_told(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"^translate.words: .*none.txt"):
        words_of(untrained("transformer").trained, str(tmp_path / "none.txt"))


def test_words_that_the_model_cannot_write_are_left_out(tmp_path: Path) -> None:
    file = tmp_path / "words.txt"
    target = Character().learn(["the cat"])
    file.write_text("cat\nCAT\n", "utf-8")
    words = ListedWords(read_words(file, spelling(target), target.size))
    assert words.allowed(torch.tensor([words.start]), torch.tensor([9])).sum() == 2  # "c" and END
    file.write_text("CAT\n", "utf-8")
    with pytest.raises(UserError, match=r"words.txt: the model can write none of its words, as CAT"):
        read_words(file, spelling(target), target.size)
