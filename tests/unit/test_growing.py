"""Tokenizers that get pieces of new text: old ids stay, and nothing is lost."""

import pytest

from weft.text.growing import grow
from weft.text.learners import BPE, Byte, Character, Learner, Unigram, Whitespace, Word, WordPiece

OLD = ["the cat sees the dog", "a dog hears the cat", "the dog and the cat"] * 3
NEW = ["the čaža sees žirafa", "žirafa čaža", "the žirafa hears", "žirafa"]
KINDS: dict[str, Learner] = {
    "character": Character(),
    "whitespace": Whitespace(),
    "word": Word(),
    "bpe": BPE(size=60, unknown="token"),
    "bpe-bytes": BPE(size=330),
    "wordpiece": WordPiece(size=60),
    "unigram": Unigram(size=40, unknown="token"),
    "unigram-bytes": Unigram(size=320),
}


@pytest.mark.parametrize("kind", KINDS)
def test_old_ids_stay_and_new_text_is_known(kind: str) -> None:
    tokenizer = KINDS[kind].learn(OLD)
    growth = grow(tokenizer, NEW, 100, merges=False)
    grown = growth.tokenizer
    assert grown.vocabulary()[: tokenizer.size] == tokenizer.vocabulary()
    assert grown.size == tokenizer.size + len(growth.spelled) > tokenizer.size
    assert grown.encode(OLD) == tokenizer.encode(OLD)
    before, after = tokenizer.encode(NEW), grown.encode(NEW)
    strange = {tokenizer.unknown, *tokenizer.byte_pieces}
    assert any(not strange.isdisjoint(row) for row in before)
    assert all(strange.isdisjoint(row) for row in after)
    assert grown.decode(after) == NEW
    assert all(set(ids) <= strange for ids in growth.spelled)


def test_bytes_stand_in_for_a_letter_in_their_order() -> None:
    tokenizer = KINDS["bpe-bytes"].learn(OLD)
    growth = grow(tokenizer, NEW, 100, merges=False)
    assert growth.pieces[0] == "ž"
    assert tokenizer.spelled(growth.spelled[0]) == ["ž".encode()[:1], "ž".encode()[1:]]


def test_merges_go_on_where_the_learned_ones_ended() -> None:
    tokenizer = KINDS["bpe"].learn(OLD)
    growth = grow(tokenizer, NEW, 100, merges=True)
    assert "▁žirafa" in growth.pieces
    assert growth.tokenizer.pieces(growth.tokenizer.encode(["žirafa"])[0]) == ["▁žirafa"]
    assert growth.tokenizer.decode(growth.tokenizer.encode(NEW)) == NEW
    spelled = growth.spelled[growth.pieces.index("▁žirafa")]
    assert tokenizer.pieces(spelled) == tokenizer.pieces(tokenizer.encode(["žirafa"])[0])


def test_there_is_no_more_than_there_is_room_for() -> None:
    tokenizer = KINDS["bpe"].learn(OLD)
    for room in (0, 1, 3, 5):
        assert len(grow(tokenizer, NEW, room, merges=True).spelled) == room
    whole = grow(tokenizer, NEW, 100, merges=True).pieces
    assert grow(tokenizer, NEW, 5, merges=True).pieces == whole[:5]


def test_bytes_and_known_text_need_nothing_new() -> None:
    assert grow(Byte().learn([]), NEW, 100, merges=True).spelled == ()
    assert grow(KINDS["word"].learn(OLD), OLD, 100, merges=True).spelled == ()


def test_what_was_seen_once_gets_no_piece() -> None:
    assert grow(KINDS["character"].learn(OLD), ["ß", "õõ"], 100, merges=False).pieces == ["õ"]


def test_a_backward_tokenizer_stays_one() -> None:
    tokenizer = KINDS["word"].learn(OLD)
    forward, backward = (grow(one, NEW, 100, merges=False).tokenizer for one in (tokenizer, tokenizer.backward()))
    assert backward.order == "backward"
    assert backward.encode(NEW) == [row[::-1] for row in forward.encode(NEW)]
