"""Vocabulary extension: old ids stay, and new text is covered without unknown tokens."""

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
from weft.text.vocabulary_extension import ExtendedTokenizer, extend_tokenizer

OLD = ["the cat sees the dog", "a dog hears the cat", "the dog and the cat"] * 3
NEW = ["the čaža sees žirafa", "žirafa čaža", "the žirafa hears", "žirafa"]
TRAINERS: dict[str, TokenizerTrainer] = {
    "character": CharacterTokenizerTrainer(),
    "whitespace": WhitespaceTokenizerTrainer(),
    "word": WordTokenizerTrainer(),
    "bpe": BPETokenizerTrainer(vocab_size=60, byte_fallback=False),
    "bpe-bytes": BPETokenizerTrainer(vocab_size=330),
    "wordpiece": WordPieceTokenizerTrainer(vocab_size=60),
    "unigram": UnigramTokenizerTrainer(vocab_size=40, byte_fallback=False),
    "unigram-bytes": UnigramTokenizerTrainer(vocab_size=320),
}


def new_tokens(extension: ExtendedTokenizer) -> list[str]:
    tokenizer = extension.tokenizer
    return tokenizer.tokens(range(tokenizer.size - len(extension.old_ids), tokenizer.size))


@pytest.mark.parametrize("kind", TRAINERS)
def test_old_ids_stay_and_new_text_is_known(kind: str) -> None:
    tokenizer = TRAINERS[kind].train(OLD)
    extension = extend_tokenizer(tokenizer, NEW, 100, merges=False)
    extended = extension.tokenizer
    assert extended.vocabulary()[: tokenizer.size] == tokenizer.vocabulary()
    assert extended.size == tokenizer.size + len(extension.old_ids) > tokenizer.size
    assert extended.encode(OLD) == tokenizer.encode(OLD)
    before, after = tokenizer.encode(NEW), extended.encode(NEW)
    unknown_ids = {tokenizer.unknown_id, *tokenizer.byte_ids}
    assert any(not unknown_ids.isdisjoint(row) for row in before)
    assert all(unknown_ids.isdisjoint(row) for row in after)
    assert extended.decode(after) == NEW
    assert all(set(ids) <= unknown_ids for ids in extension.old_ids)


def test_new_character_maps_to_its_old_bytes_in_order() -> None:
    tokenizer = TRAINERS["bpe-bytes"].train(OLD)
    extension = extend_tokenizer(tokenizer, NEW, 100, merges=False)
    assert new_tokens(extension)[0] == "ž"
    assert tokenizer.token_bytes(extension.old_ids[0]) == ["ž".encode()[:1], "ž".encode()[1:]]


def test_new_merges_continue_the_learned_ones() -> None:
    tokenizer = TRAINERS["bpe"].train(OLD)
    extension = extend_tokenizer(tokenizer, NEW, 100, merges=True)
    assert "▁žirafa" in new_tokens(extension)
    assert extension.tokenizer.tokens(extension.tokenizer.encode(["žirafa"])[0]) == ["▁žirafa"]
    assert extension.tokenizer.decode(extension.tokenizer.encode(NEW)) == NEW
    old_ids = extension.old_ids[new_tokens(extension).index("▁žirafa")]
    assert tokenizer.tokens(old_ids) == tokenizer.tokens(tokenizer.encode(["žirafa"])[0])


def test_number_of_new_tokens_is_limited() -> None:
    tokenizer = TRAINERS["bpe"].train(OLD)
    for limit in (0, 1, 3, 5):
        assert len(extend_tokenizer(tokenizer, NEW, limit, merges=True).old_ids) == limit
    whole = new_tokens(extend_tokenizer(tokenizer, NEW, 100, merges=True))
    assert new_tokens(extend_tokenizer(tokenizer, NEW, 5, merges=True)) == whole[:5]


def test_byte_tokenizer_and_known_text_need_no_new_tokens() -> None:
    assert extend_tokenizer(ByteTokenizerTrainer().train([]), NEW, 100, merges=True).old_ids == ()
    assert extend_tokenizer(TRAINERS["word"].train(OLD), OLD, 100, merges=True).old_ids == ()


def test_character_that_occurs_once_gets_no_token() -> None:
    extension = extend_tokenizer(TRAINERS["character"].train(OLD), ["ß", "õõ"], 100, merges=False)
    assert new_tokens(extension) == ["õ"]


def test_backward_tokenizer_stays_backward() -> None:
    tokenizer = TRAINERS["word"].train(OLD)
    forward, backward = (
        extend_tokenizer(base, NEW, 100, merges=False).tokenizer for base in (tokenizer, tokenizer.reversed())
    )
    assert backward.order == "backward"
    assert backward.encode(NEW) == [row[::-1] for row in forward.encode(NEW)]
