"""From attention between pieces to attention between words."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from weft.core.codec import EOS
from weft.text.tokenizer import Tokenizer
from weft.text.tokenizer_training import (
    BPETokenizerTrainer,
    ByteTokenizerTrainer,
    CharacterTokenizerTrainer,
    TokenizerTrainer,
    UnigramTokenizerTrainer,
    WhitespaceTokenizerTrainer,
    WordPieceTokenizerTrainer,
    WordTokenizerTrainer,
)
from weft.text.word_alignment import TokenSpan, merge_weights, token_spans, word_spans

LINES = [
    "der rote Hund schläft.",
    "ein T-Shirt, zwei (alte) Hunde!",
    "猫が好き",
    "rote rote Hunde Hunde schlafen schlafen",
]
SPACED: list[TokenizerTrainer] = [
    CharacterTokenizerTrainer(),
    ByteTokenizerTrainer(),
    WordTokenizerTrainer(min_frequency=1),
    WordPieceTokenizerTrainer(vocab_size=60, min_frequency=1),
    BPETokenizerTrainer(vocab_size=300, min_frequency=1),
    BPETokenizerTrainer(vocab_size=60, min_frequency=1, byte_fallback=False),
    UnigramTokenizerTrainer(vocab_size=320, min_frequency=1),
]
EVERY = [*SPACED, WhitespaceTokenizerTrainer()]
TOKENIZERS = {type(learner).__name__ + str(number): learner.train(LINES) for number, learner in enumerate(EVERY)}


def ids_of(text: str, tokenizer: Tokenizer) -> list[int]:
    return [*tokenizer.encode([text])[0], EOS]


def names(spans: list[TokenSpan]) -> list[str]:
    return [span.name for span in spans]


@pytest.mark.parametrize("learner", SPACED, ids=repr)
def test_words_stand_between_spaces_and_without_their_signs(learner: TokenizerTrainer) -> None:
    tokenizer = learner.train(LINES)
    for line, words in [
        ("ein T-Shirt, zwei (alte) Hunde!", ["ein", "T-Shirt", ",", "zwei", "(", "alte", ")", "Hunde", "!", "<end>"]),
        ("der Hund schläft", ["der", "Hund", "schläft", "<end>"]),
    ]:
        assert names(word_spans(ids_of(line, tokenizer), tokenizer)) == words


def test_symbols_are_words() -> None:
    tokenizer = WhitespaceTokenizerTrainer().train(["h a t s"])
    assert names(word_spans(ids_of("h a t", tokenizer), tokenizer)) == ["h", "a", "t", "<end>"]


@pytest.mark.parametrize(
    "learner",
    [CharacterTokenizerTrainer(), BPETokenizerTrainer(vocab_size=60, min_frequency=1, byte_fallback=False)],
    ids=repr,
)
def test_without_a_space_the_pieces_stay(learner: TokenizerTrainer) -> None:
    tokenizer = learner.train(LINES)
    ids = ids_of("猫が好き", tokenizer)
    assert len(ids) > 2
    assert [span[1:] for span in word_spans(ids, tokenizer)] == [(number, number + 1) for number in range(len(ids))]
    assert names(word_spans(ids, tokenizer))[-2:] == ["き", "<end>"]


def test_spaces_go_with_the_word_after_them() -> None:
    tokenizer = CharacterTokenizerTrainer().train(["a b"])
    spans = word_spans(ids_of("a  b ", tokenizer), tokenizer)
    assert spans == [TokenSpan("a", 0, 1), TokenSpan("b", 1, 4), TokenSpan("▁", 4, 5), TokenSpan("<end>", 5, 6)]


def test_pieces_show_spaces_and_letters() -> None:
    byte = ByteTokenizerTrainer().train([])
    assert names(token_spans(ids_of("a é", byte), byte)) == ["a", "▁", "<0xC3>", "<0xA9>", "<end>"]
    words = WordTokenizerTrainer(min_frequency=1).train(["ein Hund."])
    assert names(token_spans(ids_of("ein Hund.", words), words)) == ["▁ein", "▁Hund", ".", "<end>"]


def test_nothing_is_only_the_end() -> None:
    tokenizer = CharacterTokenizerTrainer().train(["a"])
    assert word_spans([EOS], tokenizer) == token_spans([EOS], tokenizer) == [TokenSpan("<end>", 0, 1)]


def test_a_source_word_is_a_sum_and_a_target_word_a_mean() -> None:
    weights = np.array([[0.1, 0.2, 0.7], [0.5, 0.1, 0.4], [0.0, 0.0, 1.0]])
    source, target = [TokenSpan("a", 0, 2), TokenSpan("b", 2, 3)], [TokenSpan("c", 0, 1), TokenSpan("d", 1, 3)]
    np.testing.assert_allclose(merge_weights(weights, target, source), [[0.3, 0.7], [0.3, 0.7]])


@given(
    st.text(alphabet="ab é猫.,(-$\n▁🐈\u0301", max_size=14), st.text(max_size=8), st.sampled_from(sorted(TOKENIZERS))
)
def test_every_piece_is_in_one_word_and_rows_keep_their_sum(text: str, other: str, kind: str) -> None:
    tokenizer = TOKENIZERS[kind]
    source, target = (ids_of(line, tokenizer) for line in (text, other))
    for ids in (source, target):
        spans = word_spans(ids, tokenizer)
        assert [number for span in spans for number in range(span.first, span.end)] == list(range(len(ids)))
        assert all(span.name for span in spans)
    weights = np.random.default_rng(len(text)).dirichlet(np.ones(len(source)), size=len(target))
    words = merge_weights(weights, word_spans(target, tokenizer), word_spans(source, tokenizer))
    np.testing.assert_allclose(words.sum(1), 1)
