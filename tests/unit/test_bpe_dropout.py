"""BPE-dropout: random segmentations of the same text, determined by a seed."""

from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from weft.text.bpe_dropout import BPEDropout
from weft.text.tokenizer import Tokenizer
from weft.text.tokenizer_training import BPETokenizerTrainer, UnigramTokenizerTrainer

LINES = [
    "the lower house is newer than the widest house",
    "low lower lowest, new newer newest; wide (wider) widest!",
] * 5


@pytest.fixture(scope="module")
def tokenizer() -> Tokenizer:
    return BPETokenizerTrainer(vocab_size=400).train(LINES)


@given(line=st.text() | st.sampled_from(LINES), rate=st.floats(0.0, 0.99), seed=st.integers(0))
def test_text_is_unchanged(tokenizer: Tokenizer, line: str, rate: float, seed: int) -> None:
    (ids,) = tokenizer.encode([line])
    dropped = BPEDropout(tokenizer, rate)(ids, Random(seed))
    assert tokenizer.decode([dropped]) == tokenizer.decode([ids])


def test_rate_zero_changes_nothing(tokenizer: Tokenizer) -> None:
    letters = tokenizer.encode(["l", "o"])
    ids = [*letters[0], *letters[1]]
    assert BPEDropout(tokenizer, 0.0)(ids, Random(1)) == ids


def test_tiny_rate_merges_like_the_tokenizer(tokenizer: Tokenizer) -> None:
    drop = BPEDropout(tokenizer, 1e-12)
    for ids in tokenizer.encode([*LINES, "slower housewidest newnewer, unheard ( of )!!"]):
        assert drop(ids, Random(1)) == ids


def test_rate_near_one_leaves_single_characters(tokenizer: Tokenizer) -> None:
    (ids,) = tokenizer.encode(["the newest"])
    dropped = BPEDropout(tokenizer, 1 - 1e-12)(ids, Random(1))
    assert tokenizer.tokens(dropped) == list("▁the▁newest")


def test_more_dropout_gives_more_tokens(tokenizer: Tokenizer) -> None:
    (ids,) = tokenizer.encode(LINES[:1])
    lengths = [
        sum(len(BPEDropout(tokenizer, rate)(ids, Random(seed))) for seed in range(50)) for rate in (0.0, 0.1, 0.4, 0.8)
    ]
    assert lengths == sorted(set(lengths))


def test_result_is_determined_by_the_seed(tokenizer: Tokenizer) -> None:
    (ids,) = tokenizer.encode(LINES[:1])
    drop = BPEDropout(tokenizer, 0.3)
    assert drop(ids, Random(1)) == drop(ids, Random(1))
    assert len({tuple(drop(ids, Random(seed))) for seed in range(20)}) > 10


def test_share_of_dropped_merges() -> None:
    """With a single merge, a word stays split into characters with probability `rate`."""
    tokenizer = BPETokenizerTrainer(vocab_size=4, byte_fallback=False).train(["aa aa aa"])
    (ids,) = tokenizer.encode(["aa"])
    assert tokenizer.tokens(ids) == ["▁a", "a"]
    split = sum(len(BPEDropout(tokenizer, 0.3)(ids, Random(seed))) == 3 for seed in range(1000))
    assert 240 < split < 360


def test_tokenizer_without_merges_is_unchanged() -> None:
    tokenizer = UnigramTokenizerTrainer(vocab_size=400).train(LINES)
    (ids,) = tokenizer.encode(LINES[:1])
    assert BPEDropout(tokenizer, 0.9)(ids, Random(1)) == ids
