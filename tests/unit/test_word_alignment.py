"""Conversion of attention between tokens to attention between words."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from weft.core.special_tokens import EOS
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
TRAINERS = [*SPACED, WhitespaceTokenizerTrainer()]
TOKENIZERS = {type(trainer).__name__ + str(number): trainer.train(LINES) for number, trainer in enumerate(TRAINERS)}


def encode_with_eos(text: str, tokenizer: Tokenizer) -> list[int]:
    return [*tokenizer.encode([text])[0], EOS]


def names(spans: list[TokenSpan]) -> list[str]:
    return [span.name for span in spans]


@pytest.mark.parametrize("trainer", SPACED, ids=repr)
def test_words_are_split_at_spaces_and_punctuation(trainer: TokenizerTrainer) -> None:
    tokenizer = trainer.train(LINES)
    for line, words in [
        ("ein T-Shirt, zwei (alte) Hunde!", ["ein", "T-Shirt", ",", "zwei", "(", "alte", ")", "Hunde", "!", "<end>"]),
        ("der Hund schläft", ["der", "Hund", "schläft", "<end>"]),
    ]:
        assert names(word_spans(encode_with_eos(line, tokenizer), tokenizer)) == words


def test_whitespace_tokens_are_words() -> None:
    tokenizer = WhitespaceTokenizerTrainer().train(["h a t s"])
    assert names(word_spans(encode_with_eos("h a t", tokenizer), tokenizer)) == ["h", "a", "t", "<end>"]


@pytest.mark.parametrize(
    "trainer",
    [CharacterTokenizerTrainer(), BPETokenizerTrainer(vocab_size=60, min_frequency=1, byte_fallback=False)],
    ids=repr,
)
def test_text_without_spaces_keeps_its_tokens(trainer: TokenizerTrainer) -> None:
    tokenizer = trainer.train(LINES)
    ids = encode_with_eos("猫が好き", tokenizer)
    assert len(ids) > 2
    assert [span[1:] for span in word_spans(ids, tokenizer)] == [(number, number + 1) for number in range(len(ids))]
    assert names(word_spans(ids, tokenizer))[-2:] == ["き", "<end>"]


def test_spaces_belong_to_the_following_word() -> None:
    tokenizer = CharacterTokenizerTrainer().train(["a b"])
    spans = word_spans(encode_with_eos("a  b ", tokenizer), tokenizer)
    assert spans == [TokenSpan("a", 0, 1), TokenSpan("b", 1, 4), TokenSpan("▁", 4, 5), TokenSpan("<end>", 5, 6)]


def test_token_spans_show_spaces_and_bytes() -> None:
    byte = ByteTokenizerTrainer().train([])
    assert names(token_spans(encode_with_eos("a é", byte), byte)) == ["a", "▁", "<0xC3>", "<0xA9>", "<end>"]
    words = WordTokenizerTrainer(min_frequency=1).train(["ein Hund."])
    assert names(token_spans(encode_with_eos("ein Hund.", words), words)) == ["▁ein", "▁Hund", ".", "<end>"]


def test_empty_text_has_only_eos() -> None:
    tokenizer = CharacterTokenizerTrainer().train(["a"])
    assert word_spans([EOS], tokenizer) == token_spans([EOS], tokenizer) == [TokenSpan("<end>", 0, 1)]


def test_source_weights_are_summed_and_target_weights_averaged() -> None:
    weights = np.array([[0.1, 0.2, 0.7], [0.5, 0.1, 0.4], [0.0, 0.0, 1.0]])
    source, target = [TokenSpan("a", 0, 2), TokenSpan("b", 2, 3)], [TokenSpan("c", 0, 1), TokenSpan("d", 1, 3)]
    np.testing.assert_allclose(merge_weights(weights, target, source), [[0.3, 0.7], [0.3, 0.7]])


@given(
    st.text(alphabet="ab é猫.,(-$\n▁🐈\u0301", max_size=14), st.text(max_size=8), st.sampled_from(sorted(TOKENIZERS))
)
def test_words_partition_the_tokens_and_rows_keep_their_sum(text: str, other: str, kind: str) -> None:
    tokenizer = TOKENIZERS[kind]
    source, target = (encode_with_eos(line, tokenizer) for line in (text, other))
    for ids in (source, target):
        spans = word_spans(ids, tokenizer)
        assert [number for span in spans for number in range(span.first, span.end)] == list(range(len(ids)))
        assert all(span.name for span in spans)
    weights = np.random.default_rng(len(text)).dirichlet(np.ones(len(source)), size=len(target))
    words = merge_weights(weights, word_spans(target, tokenizer), word_spans(source, tokenizer))
    np.testing.assert_allclose(words.sum(1), 1)


def test_subwords_of_a_single_word_are_one_word() -> None:
    tokenizer = BPETokenizerTrainer(vocab_size=300, min_frequency=1).train(["Hund und Hu"])
    ids = encode_with_eos("Hunde.", tokenizer)
    assert len(ids) == 4
    assert names(word_spans(ids, tokenizer)) == ["Hunde", ".", "<end>"]
