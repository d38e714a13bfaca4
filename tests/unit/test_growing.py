"""Tokenizers that get pieces of new text: old ids stay, and nothing is lost."""

import pytest

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
from weft.text.vocabulary_extension import extend_tokenizer

OLD = ["the cat sees the dog", "a dog hears the cat", "the dog and the cat"] * 3
NEW = ["the čaža sees žirafa", "žirafa čaža", "the žirafa hears", "žirafa"]
KINDS: dict[str, TokenizerTrainer] = {
    "character": CharacterTokenizerTrainer(),
    "whitespace": WhitespaceTokenizerTrainer(),
    "word": WordTokenizerTrainer(),
    "bpe": BPETokenizerTrainer(vocab_size=60, byte_fallback=False),
    "bpe-bytes": BPETokenizerTrainer(vocab_size=330),
    "wordpiece": WordPieceTokenizerTrainer(vocab_size=60),
    "unigram": UnigramTokenizerTrainer(vocab_size=40, byte_fallback=False),
    "unigram-bytes": UnigramTokenizerTrainer(vocab_size=320),
}


@pytest.mark.parametrize("kind", KINDS)
def test_old_ids_stay_and_new_text_is_known(kind: str) -> None:
    tokenizer = KINDS[kind].train(OLD)
    growth = extend_tokenizer(tokenizer, NEW, 100, merges=False)
    grown = growth.tokenizer
    assert grown.vocabulary()[: tokenizer.size] == tokenizer.vocabulary()
    assert grown.size == tokenizer.size + len(growth.old_ids) > tokenizer.size
    assert grown.encode(OLD) == tokenizer.encode(OLD)
    before, after = tokenizer.encode(NEW), grown.encode(NEW)
    strange = {tokenizer.unknown_id, *tokenizer.byte_ids}
    assert any(not strange.isdisjoint(row) for row in before)
    assert all(strange.isdisjoint(row) for row in after)
    assert grown.decode(after) == NEW
    assert all(set(ids) <= strange for ids in growth.old_ids)


def test_bytes_stand_in_for_a_letter_in_their_order() -> None:
    tokenizer = KINDS["bpe-bytes"].train(OLD)
    growth = extend_tokenizer(tokenizer, NEW, 100, merges=False)
    assert growth.new_tokens[0] == "ž"
    assert tokenizer.token_bytes(growth.old_ids[0]) == ["ž".encode()[:1], "ž".encode()[1:]]


def test_merges_go_on_where_the_learned_ones_ended() -> None:
    tokenizer = KINDS["bpe"].train(OLD)
    growth = extend_tokenizer(tokenizer, NEW, 100, merges=True)
    assert "▁žirafa" in growth.new_tokens
    assert growth.tokenizer.tokens(growth.tokenizer.encode(["žirafa"])[0]) == ["▁žirafa"]
    assert growth.tokenizer.decode(growth.tokenizer.encode(NEW)) == NEW
    spelled = growth.old_ids[growth.new_tokens.index("▁žirafa")]
    assert tokenizer.tokens(spelled) == tokenizer.tokens(tokenizer.encode(["žirafa"])[0])


def test_there_is_no_more_than_there_is_room_for() -> None:
    tokenizer = KINDS["bpe"].train(OLD)
    for room in (0, 1, 3, 5):
        assert len(extend_tokenizer(tokenizer, NEW, room, merges=True).old_ids) == room
    whole = extend_tokenizer(tokenizer, NEW, 100, merges=True).new_tokens
    assert extend_tokenizer(tokenizer, NEW, 5, merges=True).new_tokens == whole[:5]


def test_bytes_and_known_text_need_nothing_new() -> None:
    assert extend_tokenizer(ByteTokenizerTrainer().train([]), NEW, 100, merges=True).old_ids == ()
    assert extend_tokenizer(KINDS["word"].train(OLD), OLD, 100, merges=True).old_ids == ()


def test_what_was_seen_once_gets_no_piece() -> None:
    assert extend_tokenizer(KINDS["character"].train(OLD), ["ß", "õõ"], 100, merges=False).new_tokens == ["õ"]


def test_a_backward_tokenizer_stays_one() -> None:
    tokenizer = KINDS["word"].train(OLD)
    forward, backward = (
        extend_tokenizer(one, NEW, 100, merges=False).tokenizer for one in (tokenizer, tokenizer.reversed())
    )
    assert backward.order == "backward"
    assert backward.encode(NEW) == [row[::-1] for row in forward.encode(NEW)]
