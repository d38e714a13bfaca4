"""From attention between pieces to attention between words."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from weft.core.marks import END
from weft.text.learners import BPE, Byte, Character, Learner, Unigram, Whitespace, Word, WordPiece
from weft.text.tokenizer import Tokenizer
from weft.text.words import Span, merged, pieces_of, words_of

LINES = [
    "der rote Hund schläft.",
    "ein T-Shirt, zwei (alte) Hunde!",
    "猫が好き",
    "rote rote Hunde Hunde schlafen schlafen",
]
SPACED: list[Learner] = [
    Character(),
    Byte(),
    Word(min_count=1),
    WordPiece(size=60, min_count=1),
    BPE(size=300, min_count=1),
    BPE(size=60, min_count=1, unknown="token"),
    Unigram(size=320, min_count=1),
]
EVERY = [*SPACED, Whitespace()]
TOKENIZERS = {type(learner).__name__ + str(number): learner.learn(LINES) for number, learner in enumerate(EVERY)}


def ids_of(text: str, tokenizer: Tokenizer) -> list[int]:
    return [*tokenizer.encode([text])[0], END]


def names(spans: list[Span]) -> list[str]:
    return [span.name for span in spans]


@pytest.mark.parametrize("learner", SPACED, ids=repr)
def test_words_stand_between_spaces_and_without_their_signs(learner: Learner) -> None:
    tokenizer = learner.learn(LINES)
    for line, words in [
        ("ein T-Shirt, zwei (alte) Hunde!", ["ein", "T-Shirt", ",", "zwei", "(", "alte", ")", "Hunde", "!", "<end>"]),
        ("der Hund schläft", ["der", "Hund", "schläft", "<end>"]),
    ]:
        assert names(words_of(ids_of(line, tokenizer), tokenizer)) == words


def test_symbols_are_words() -> None:
    tokenizer = Whitespace().learn(["h a t s"])
    assert names(words_of(ids_of("h a t", tokenizer), tokenizer)) == ["h", "a", "t", "<end>"]


@pytest.mark.parametrize("learner", [Character(), BPE(size=60, min_count=1, unknown="token")], ids=repr)
def test_without_a_space_the_pieces_stay(learner: Learner) -> None:
    tokenizer = learner.learn(LINES)
    ids = ids_of("猫が好き", tokenizer)
    assert len(ids) > 2
    assert [span[1:] for span in words_of(ids, tokenizer)] == [(number, number + 1) for number in range(len(ids))]
    assert names(words_of(ids, tokenizer))[-2:] == ["き", "<end>"]


def test_spaces_go_with_the_word_after_them() -> None:
    tokenizer = Character().learn(["a b"])
    spans = words_of(ids_of("a  b ", tokenizer), tokenizer)
    assert spans == [Span("a", 0, 1), Span("b", 1, 4), Span("▁", 4, 5), Span("<end>", 5, 6)]


def test_pieces_show_spaces_and_letters() -> None:
    byte = Byte().learn([])
    assert names(pieces_of(ids_of("a é", byte), byte)) == ["a", "▁", "<0xC3>", "<0xA9>", "<end>"]
    words = Word(min_count=1).learn(["ein Hund."])
    assert names(pieces_of(ids_of("ein Hund.", words), words)) == ["▁ein", "▁Hund", ".", "<end>"]


def test_nothing_is_only_the_end() -> None:
    tokenizer = Character().learn(["a"])
    assert words_of([END], tokenizer) == pieces_of([END], tokenizer) == [Span("<end>", 0, 1)]


def test_a_source_word_is_a_sum_and_a_target_word_a_mean() -> None:
    weights = np.array([[0.1, 0.2, 0.7], [0.5, 0.1, 0.4], [0.0, 0.0, 1.0]])
    source, target = [Span("a", 0, 2), Span("b", 2, 3)], [Span("c", 0, 1), Span("d", 1, 3)]
    np.testing.assert_allclose(merged(weights, target, source), [[0.3, 0.7], [0.3, 0.7]])


@given(
    st.text(alphabet="ab é猫.,(-$\n▁🐈\u0301", max_size=14), st.text(max_size=8), st.sampled_from(sorted(TOKENIZERS))
)
def test_every_piece_is_in_one_word_and_rows_keep_their_sum(text: str, other: str, kind: str) -> None:
    tokenizer = TOKENIZERS[kind]
    source, target = (ids_of(line, tokenizer) for line in (text, other))
    for ids in (source, target):
        spans = words_of(ids, tokenizer)
        assert [number for span in spans for number in range(span.first, span.end)] == list(range(len(ids)))
        assert all(span.name for span in spans)
    weights = np.random.default_rng(len(text)).dirichlet(np.ones(len(source)), size=len(target))
    words = merged(weights, words_of(target, tokenizer), words_of(source, tokenizer))
    np.testing.assert_allclose(words.sum(1), 1)
