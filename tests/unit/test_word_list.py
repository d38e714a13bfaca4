"""Outputs restricted to a word list."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from unit.translators import SENTENCE, untrained_translator
from weft.core.errors import UserError
from weft.core.padded import Padded
from weft.core.special_tokens import BOS, EOS, NUM_SPECIAL_TOKENS
from weft.core.state import State, StepFunction, StepOutput
from weft.decoding.beam import BeamSearch
from weft.decoding.constraints.word_trie import WordListConstraint, WordTrie, read_word_list, restrict_to_words
from weft.decoding.exhaustive import ExhaustiveSearch
from weft.decoding.forced_decoding import forced_scores
from weft.decoding.greedy import GreedySearch
from weft.decoding.length_penalty import NoLengthPenalty
from weft.decoding.search import Search
from weft.inference.loader import exact_encoder, load_word_list
from weft.text.tokenizer_training import CharacterTokenizerTrainer

LETTERS = "ab "
SIZE = NUM_SPECIAL_TOKENS + len(LETTERS)


def encode(text: str) -> list[int]:
    return [NUM_SPECIAL_TOKENS + LETTERS.index(letter) for letter in text]


def decode(tokens: Sequence[int]) -> str:
    return "".join(LETTERS[token - NUM_SPECIAL_TOKENS] for token in tokens)


def word_list(*words: str) -> WordListConstraint:
    return WordListConstraint(WordTrie([encode(word) for word in words], encode(" "), SIZE))


def make_step(seed: int) -> StepFunction:
    """Return a step function that depends on the last token only."""
    log_probs = torch.randn(SIZE, SIZE, generator=torch.Generator().manual_seed(seed)).mul(3).log_softmax(1)

    def step(tokens: Tensor, state: State) -> tuple[StepOutput, State]:
        return StepOutput(log_probs[tokens], None), state

    return step


def search_outputs(search: Search, seed: int, words: WordListConstraint, limits: Sequence[int]) -> list[list[str]]:
    limit = torch.tensor(limits)
    step, state = restrict_to_words(make_step(seed), State((), torch.zeros(len(limits), 1)), words, limit)
    return [
        [decode(hypothesis.tokens) for hypothesis in n_best]
        for n_best in search(step, state, limit, torch.arange(len(limits)))
    ]


@settings(max_examples=25, deadline=None)
@given(
    st.sets(st.text("ab", min_size=1, max_size=4), min_size=1, max_size=5),
    st.integers(0, 10**6),
    st.lists(st.integers(0, 9), min_size=1, max_size=4),
)
def test_every_output_consists_of_listed_words(words: set[str], seed: int, limits: list[int]) -> None:
    for search in (GreedySearch(), BeamSearch(size=3, n_best=3)):
        for outputs, limit in zip(search_outputs(search, seed, word_list(*words), limits), limits, strict=True):
            assert outputs
            assert all(not text or set(text.split(" ")) <= words for text in outputs)
            assert all(len(text) <= limit for text in outputs)


def test_exhaustive_search_finds_the_best_allowed_output() -> None:
    words = ["a", "ab", "bb"]
    for seed in range(20):
        texts = ["", *words, *(f"{first} {second}" for first in words for second in words)]
        texts = [text for text in texts if len(text) <= 4]
        scores = [
            forced_scores(make_step(seed), State((), torch.zeros(1, 1)), Padded.from_rows([[*encode(text), EOS]]))[
                0
            ].score
            for text in texts
        ]
        best = texts[scores.index(max(scores))]
        assert (
            search_outputs(ExhaustiveSearch(length_penalty=NoLengthPenalty), seed, word_list(*words), [4])[0][0] == best
        )


def test_scores_are_those_of_the_unconstrained_model() -> None:
    limit = torch.tensor([6])
    step, state = restrict_to_words(make_step(3), State((), torch.zeros(1, 1)), word_list("ab", "ba"), limit)
    [[best]] = GreedySearch()(step, state, limit, torch.arange(1))
    (plain,) = forced_scores(make_step(3), State((), torch.zeros(1, 1)), Padded.from_rows([[*best.tokens, EOS]]))
    assert best.score == pytest.approx(plain.score)


def test_word_that_exceeds_the_limit_is_not_started() -> None:
    words = word_list("a", "abb")
    start = torch.tensor([words.start])
    after = words.after(words.after(start, torch.tensor([BOS])), torch.tensor(encode("a")))
    b, end = encode("b")[0], EOS
    assert [words.allowed(after, torch.tensor([left]))[0, [b, end]].tolist() for left in (1, 2)] == [
        [False, True],
        [True, True],
    ]


def test_words_without_separator_follow_directly() -> None:
    words = WordListConstraint(WordTrie([[3], [4, 5]], (), SIZE))
    after = words.after(torch.tensor([words.start, words.start]), torch.tensor([3, 4]))
    assert words.allowed(after, torch.tensor([2, 2])).nonzero().tolist() == [[0, EOS], [0, 3], [0, 4], [1, 5]]
    assert words.allowed(after, torch.tensor([1, 1])).nonzero().tolist() == [[0, EOS], [0, 3], [1, 5]]


def test_translator_outputs_only_listed_words(tmp_path: Path) -> None:
    file = tmp_path / "words.txt"
    file.write_text("cat\ndog\n", "utf-8")
    free = untrained_translator("transformer", BeamSearch(size=4, n_best=4))
    restricted = replace(free, word_list=load_word_list(free.trained, str(file)))
    texts = [
        alternative.text
        for translator in (free, restricted)
        for alternative in translator.translate([SENTENCE])[0].alternatives
    ]
    assert not set(" ".join(texts[:4]).split()) <= {"cat", "dog"}
    assert set(" ".join(texts[4:]).split()) == {"cat", "dog"}


def test_missing_word_list_is_reported(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"^translate.word_list: .*none.txt"):
        load_word_list(untrained_translator("transformer").trained, str(tmp_path / "none.txt"))


def test_words_the_model_cannot_produce_are_ignored(tmp_path: Path) -> None:
    file = tmp_path / "words.txt"
    target = CharacterTokenizerTrainer().train(["the cat"])
    file.write_text("cat\nCAT\n", "utf-8")
    words = WordListConstraint(read_word_list(file, exact_encoder(target), target.size))
    assert words.allowed(torch.tensor([words.start]), torch.tensor([9])).sum() == 2  # "c" and EOS
    file.write_text("CAT\n", "utf-8")
    with pytest.raises(UserError, match=r"words.txt: the model can write none of its words, such as CAT"):
        read_word_list(file, exact_encoder(target), target.size)
