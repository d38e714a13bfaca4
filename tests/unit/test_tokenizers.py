"""Tokenizers: round trips, deterministic training, special tokens, files and the word cache."""

import itertools
from functools import partial
from pathlib import Path
from random import Random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import AddedToken
from tokenizers import Tokenizer as LibraryTokenizer

from weft.core.errors import ConfigError, UserError
from weft.core.lazy import Reiterable
from weft.core.seeds import reservoir_sample
from weft.core.special_tokens import BOS, EOS, NUM_SPECIAL_TOKENS, PAD
from weft.data.image_codec import ImageCodecTrainer
from weft.text.text_config import TextConfig, train_tokenizers, training_noise
from weft.text.tokenizer import Tokenizer, is_tokenizer
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

LINES = [
    f"{who} {verb} {what}{end}"
    for who, verb, what, end in itertools.product(
        ["Der Hund", "Die Katze", "Ein kleines Mädchen", "the dog"],
        ["sieht", "sees", "läuft durch", "isn't"],
        ["das Haus", "2016 Äpfel", "(nothing)", "den Schnee"],
        [".", "!", " ..."],
    )
]
KINDS: list[TokenizerTrainer] = [
    CharacterTokenizerTrainer(),
    CharacterTokenizerTrainer(byte_fallback=True),
    ByteTokenizerTrainer(),
    WhitespaceTokenizerTrainer(),
    WordTokenizerTrainer(),
    BPETokenizerTrainer(vocab_size=400),
    BPETokenizerTrainer(vocab_size=150, byte_fallback=False),
    WordPieceTokenizerTrainer(vocab_size=150),
    UnigramTokenizerTrainer(vocab_size=400),
    UnigramTokenizerTrainer(vocab_size=150, byte_fallback=False),
]
WITH_BYTES: list[TokenizerTrainer] = [
    CharacterTokenizerTrainer(byte_fallback=True, normalization="none"),
    ByteTokenizerTrainer(),
    BPETokenizerTrainer(vocab_size=400, normalization="none"),
    UnigramTokenizerTrainer(vocab_size=400, normalization="none"),
]
ODD_LINES = [
    "",
    " ",
    "   ",
    "  two spaces before",
    "two  between",
    "one behind ",
    "▁",
    "a▁b ▁ ▁▁",
    "tab\tand\rreturn\nand\u2028separator",
    "🙂 👩‍👩‍👧 \x00 \x7f",
    "e\u0301 é ﬁ",
    "می‌خواهم 中文 हिन्दी",
    "<pad> <begin> <end> </s> <unk> <0x41> ## ##x",
    "x" * 3000,
]


def names(trainer: TokenizerTrainer) -> str:
    return repr(trainer)


def round_trip(tokenizer: Tokenizer, lines: list[str]) -> list[str]:
    return tokenizer.decode(tokenizer.encode(lines))


@pytest.mark.parametrize("trainer", KINDS, ids=names)
def test_training_lines_round_trip(trainer: TokenizerTrainer) -> None:
    assert round_trip(trainer.train(LINES), LINES) == LINES


@pytest.mark.parametrize("trainer", KINDS, ids=names)
def test_training_is_deterministic(trainer: TokenizerTrainer) -> None:
    assert trainer.train(LINES).to_json() == trainer.train(LINES).to_json()


def test_unigram_training_is_deterministic_despite_the_library() -> None:
    """The library's scores vary between runs if single letters are unused."""
    draws = Random(1)
    letters = "".join(map(chr, range(0x430, 0x460)))
    syllables = ["".join(draws.choices(letters, k=draws.randint(2, 4))) for _ in range(20)]
    words = ["".join(draws.choices(syllables, k=draws.randint(1, 4))) for _ in range(300)]
    lines = [" ".join(draws.choices([*words, *letters], k=8)) for _ in range(300)]
    trainer = UnigramTokenizerTrainer(vocab_size=330, min_frequency=1)
    assert len({trainer.train(lines).to_json() for _ in range(4)}) == 1


@pytest.mark.parametrize("trainer", KINDS, ids=names)
def test_unusual_lines_are_encoded_with_unk_or_bytes(trainer: TokenizerTrainer) -> None:
    tokenizer = trainer.train(LINES)
    rows = tokenizer.encode(ODD_LINES)
    assert all(NUM_SPECIAL_TOKENS <= token < tokenizer.size for row in rows for token in row)
    assert (tokenizer.unknown_id is None) == bool(tokenizer.byte_ids)
    if tokenizer.unknown_id is not None:
        assert tokenizer.unknown_id in tokenizer.encode(["中"])[0]
        assert "<unk>" in tokenizer.decode([[tokenizer.unknown_id]])[0]


@pytest.mark.parametrize(
    ("trainer", "line", "unknown"),
    [
        (CharacterTokenizerTrainer(), "Der Xund Xsieht Q", ["X", "Q"]),
        (CharacterTokenizerTrainer(lowercase=True), "DER\u3000É", ["\u3000", "É"]),
        (CharacterTokenizerTrainer(byte_fallback=True), "XQ", []),
        (WordTokenizerTrainer(), "Der Hund bellt, bellt.", ["bellt", ","]),
        (WhitespaceTokenizerTrainer(), "Der  Hund bellt", ["bellt"]),
        (BPETokenizerTrainer(vocab_size=150, byte_fallback=False), "Der Xund", ["X"]),
        (BPETokenizerTrainer(vocab_size=400), "Der Xund", []),
    ],
    ids=str,
)
def test_unknown_substrings(trainer: TokenizerTrainer, line: str, unknown: list[str]) -> None:
    assert trainer.train(LINES).unknown_substrings(line) == unknown


@pytest.fixture(scope="module", params=WITH_BYTES, ids=names)
def lossless(request: pytest.FixtureRequest) -> Tokenizer:
    trainer: TokenizerTrainer = request.param
    return trainer.train(LINES)


def test_unusual_lines_round_trip_with_byte_fallback(lossless: Tokenizer) -> None:
    assert round_trip(lossless, ODD_LINES) == ODD_LINES


@given(line=st.text(alphabet=st.characters(codec="utf-8")))
def test_any_text_round_trips_with_byte_fallback(lossless: Tokenizer, line: str) -> None:
    assert round_trip(lossless, [line]) == [line]


@pytest.mark.parametrize(
    "trainer",
    [
        WordTokenizerTrainer(),
        BPETokenizerTrainer(vocab_size=400),
        WordPieceTokenizerTrainer(vocab_size=150),
        UnigramTokenizerTrainer(vocab_size=400),
    ],
    ids=names,
)
def test_spaces_round_trip_at_any_position(trainer: TokenizerTrainer) -> None:
    lines = ["  der   Hund ", " ", "das Haus  ."]
    known = [*LINES, *LINES, *lines, *lines]
    assert round_trip(trainer.train(known), lines) == lines


@pytest.mark.parametrize("trainer", KINDS, ids=names)
def test_text_is_never_encoded_as_special_or_byte_tokens(trainer: TokenizerTrainer) -> None:
    """This holds even if the training text contains the names of special and byte tokens."""
    tokenizer = trainer.train([*LINES, *["<pad> <begin> <end> <unk> <0x41> </s>"] * 100])
    line = "<pad> <begin> <end> <0x41> </s>"
    (row,) = tokenizer.encode([line])
    assert min(row) >= NUM_SPECIAL_TOKENS
    assert tokenizer.unknown_id not in row
    assert tokenizer.decode([row]) == [line]


def test_special_tokens_are_omitted_from_text_and_shown_as_tokens() -> None:
    tokenizer = BPETokenizerTrainer(vocab_size=400).train(LINES)
    (row,) = tokenizer.encode(["Der Hund"])
    assert tokenizer.decode([[BOS, *row, EOS, PAD]]) == ["Der Hund"]
    assert tokenizer.tokens([BOS, *row, EOS, PAD]) == ["<begin>", *tokenizer.tokens(row), "<end>", "<pad>"]
    assert "".join(tokenizer.tokens(row)) == "▁Der▁Hund"


def test_lone_surrogate_is_replaced() -> None:
    assert round_trip(ByteTokenizerTrainer().train([]), ["a\ud800b"]) == ["a?b"]


def test_out_of_range_id_is_reported() -> None:
    with pytest.raises(ValueError, match="id 259 is out of range"):
        ByteTokenizerTrainer().train([]).tokens([259])


@pytest.mark.parametrize(
    ("trainer", "expected"),
    [
        (CharacterTokenizerTrainer(normalization="none"), "e\u0301 ﬁ X"),
        (CharacterTokenizerTrainer(normalization="nfc"), "é ﬁ X"),
        (CharacterTokenizerTrainer(normalization="nfkc"), "é fi X"),
        (CharacterTokenizerTrainer(lowercase=True), "é ﬁ x"),
    ],
)
def test_normalization_and_lowercase(trainer: TokenizerTrainer, expected: str) -> None:
    line = "e\u0301 ﬁ X"
    assert round_trip(trainer.train([line]), [line]) == [expected]


@pytest.mark.parametrize(
    "kind", [WordTokenizerTrainer, BPETokenizerTrainer, WordPieceTokenizerTrainer, UnigramTokenizerTrainer]
)
def test_vocabulary_size_is_an_upper_bound(kind: type[BPETokenizerTrainer]) -> None:
    for size in (290, 300, 320):
        assert kind(vocab_size=size).train([*LINES, *ODD_LINES]).size <= size + NUM_SPECIAL_TOKENS
    assert NUM_SPECIAL_TOKENS < kind(vocab_size=100_000).train(["a a b b"]).size < 300 + NUM_SPECIAL_TOKENS


def test_vocabulary_size_without_room_is_rejected() -> None:
    with pytest.raises(UserError, match="vocab_size 256 is too small: 256 tokens are reserved"):
        BPETokenizerTrainer(vocab_size=256).train(LINES)


@pytest.mark.parametrize("trainer", [k for k in KINDS if not isinstance(k, ByteTokenizerTrainer)], ids=names)
def test_empty_text_is_rejected(trainer: TokenizerTrainer) -> None:
    with pytest.raises(UserError, match="cannot train a tokenizer"):
        trainer.train(["", ""])


def test_rare_characters_are_encoded_as_bytes() -> None:
    tokenizer = BPETokenizerTrainer(vocab_size=400, min_frequency=2).train([*LINES, "ж щ щ"])
    rare, frequent = tokenizer.encode(["ж", "щ"])
    assert set(rare) & set(tokenizer.byte_ids)
    assert not set(frequent) & set(tokenizer.byte_ids)


def test_wordpiece_matches_the_longest_token_from_the_left() -> None:
    tokenizer = WordPieceTokenizerTrainer(vocab_size=60).train(["abab abab abab abc abc"] * 3)
    assert tokenizer.tokens(tokenizer.encode(["ababc"])[0]) == ["▁abab", "c"]


def test_word_tokens_include_the_preceding_space() -> None:
    tokenizer = WordTokenizerTrainer(min_frequency=1).train(["(Hallo), Welt ! isn't"])
    (row,) = tokenizer.encode(["(Hallo), Welt ! isn't"])
    assert tokenizer.tokens(row) == ["▁(", "Hallo", ")", ",", "▁Welt", "▁!", "▁isn", "'", "t"]


@pytest.mark.parametrize("trainer", KINDS, ids=names)
def test_save_and_load(trainer: TokenizerTrainer, tmp_path: Path) -> None:
    tokenizer = trainer.train(LINES)
    tokenizer.save(tmp_path / "text.json")
    loaded = Tokenizer.load(tmp_path / "text.json")
    assert loaded.fingerprint == tokenizer.fingerprint
    assert (loaded.size, loaded.unknown_id, loaded.byte_ids) == (
        tokenizer.size,
        tokenizer.unknown_id,
        tokenizer.byte_ids,
    )
    assert loaded.encode(ODD_LINES) == tokenizer.encode(ODD_LINES)


def test_fingerprints_of_different_tokenizers_differ() -> None:
    assert (
        BPETokenizerTrainer(vocab_size=300).train(LINES).fingerprint
        != BPETokenizerTrainer(vocab_size=301).train(LINES).fingerprint
    )


@pytest.mark.parametrize("content", [b"", b"{}", b"{", b"\xff\xfe", b'{"model": {"type": "BPE"}}'])
def test_damaged_file_is_rejected(content: bytes, tmp_path: Path) -> None:
    (tmp_path / "text.json").write_bytes(content)
    with pytest.raises(UserError, match=r"text\.json: not a tokenizer file"):
        Tokenizer.load(tmp_path / "text.json")


def test_file_with_special_tokens_is_rejected(tmp_path: Path) -> None:
    library = LibraryTokenizer.from_str(BPETokenizerTrainer(vocab_size=400).train(LINES).to_json())
    library.add_special_tokens([AddedToken("</s>")])
    library.save(str(tmp_path / "text.json"))
    with pytest.raises(UserError, match="special tokens"):
        Tokenizer.load(tmp_path / "text.json")


PAIRS = [(f"ein Haus {number}", f"some house {number}") for number in range(200)]


def test_joint_trains_one_tokenizer_on_both_sides() -> None:
    source, target = train_tokenizers(TextConfig(source=CharacterTokenizerTrainer), PAIRS, seed=1)
    assert source is target
    assert target.unknown_id not in target.encode(["eiuo"])[0]


def test_separate_trains_one_tokenizer_per_side() -> None:
    text = TextConfig(
        source=CharacterTokenizerTrainer, target=partial(WordTokenizerTrainer, min_frequency=1), joint=False
    )
    source, target = train_tokenizers(text, PAIRS, seed=1)
    assert is_tokenizer(source)
    assert source.unknown_id in source.encode_rows(["o"]).values
    assert target.tokens(target.encode(["some house"])[0]) == ["▁some", "▁house"]


@pytest.mark.parametrize("target", [CharacterTokenizerTrainer, partial(BPETokenizerTrainer, vocab_size=500)])
def test_joint_with_two_configurations_is_rejected(target: type[CharacterTokenizerTrainer]) -> None:
    with pytest.raises(ConfigError) as caught:
        train_tokenizers(TextConfig(target=target), PAIRS, seed=1)
    assert [problem.place for problem in caught.value.problems] == ["text.joint"]


def test_joint_with_two_equal_configurations_is_accepted() -> None:
    text = TextConfig(
        source=partial(BPETokenizerTrainer, vocab_size=300), target=partial(BPETokenizerTrainer, vocab_size=300)
    )
    source, target = train_tokenizers(text, PAIRS, seed=1)
    assert source is target


def test_reservoir_sample_is_seeded_bounded_and_uniform() -> None:
    assert reservoir_sample(iter(PAIRS), 1000, seed=1) == PAIRS
    assert reservoir_sample(iter(PAIRS), 50, seed=1) == reservoir_sample(iter(PAIRS), 50, seed=1)
    assert reservoir_sample(iter(PAIRS), 50, seed=1) != reservoir_sample(iter(PAIRS), 50, seed=2)
    drawn = [pair for seed in range(100) for pair in reservoir_sample(iter(PAIRS), 50, seed)]
    assert len(drawn) == 5000
    late = sum(int(source.split()[-1]) >= 100 for source, _ in drawn)
    assert 2300 < late < 2700


@pytest.mark.parametrize("joint", [True, False])
def test_training_uses_only_the_sample(joint: bool) -> None:
    text = TextConfig(source=WhitespaceTokenizerTrainer, joint=joint, sample_size=20)
    source, target = train_tokenizers(text, PAIRS, seed=1)
    numbers = [{piece for piece in side.vocabulary() if piece.isdecimal()} for side in (source, target)]
    assert len(numbers[0]) == 20
    assert numbers[0] == numbers[1]  # pairs are sampled as a whole
    assert numbers[0] == {pair[0].split()[-1] for pair in reservoir_sample(PAIRS, 20, seed=1)}


def test_iterators_are_read_completely() -> None:
    text = TextConfig(source=partial(BPETokenizerTrainer, vocab_size=300))
    assert train_tokenizers(text, iter(PAIRS), 1)[0].to_json() == train_tokenizers(text, PAIRS, 1)[0].to_json()
    assert (
        BPETokenizerTrainer(vocab_size=400).train(iter(LINES)).to_json()
        == BPETokenizerTrainer(vocab_size=400).train(LINES).to_json()
    )


def test_training_does_not_hold_all_lines_in_memory() -> None:
    """Only a few of the lines exist at any time during training."""
    alive, peak = 0, 0

    class Line(str):
        def __new__(cls, text: str) -> "Line":
            nonlocal alive, peak
            alive += 1
            peak = max(peak, alive)
            return super().__new__(cls, text)

        def __del__(self) -> None:
            nonlocal alive
            alive -= 1

    pairs = Reiterable(lambda: ((Line(f"a house {number}"), Line(f"b house {number}")) for number in range(5000)))
    train_tokenizers(TextConfig(source=partial(BPETokenizerTrainer, vocab_size=300)), pairs, seed=1)
    assert 0 < peak < 2000


def test_encode_rows_equals_encode() -> None:
    tokenizer = BPETokenizerTrainer(vocab_size=400).train(LINES)
    rows = tokenizer.encode_rows(["", *LINES, "", "never seen: \u4e2d"])
    expected = tokenizer.encode(["", *LINES, "", "never seen: \u4e2d"])
    assert [part.tolist() for part in np.split(rows.values, rows.lengths.cumsum()[:-1])] == expected
    mask = np.arange(len(expected)) % 3 == 0
    chosen = rows.select(mask)
    assert [part.tolist() for part in np.split(chosen.values, chosen.lengths.cumsum()[:-1])] == expected[::3]


def test_training_noise_of_each_side() -> None:
    text = TextConfig(
        source=partial(BPETokenizerTrainer, vocab_size=300, dropout=0.5), target=CharacterTokenizerTrainer, joint=False
    )
    source, target = training_noise(text, train_tokenizers(text, PAIRS, seed=1))
    assert source is not None
    assert target is None


def test_only_bpe_has_dropout() -> None:
    assert {type(kind) for kind in [*KINDS, ImageCodecTrainer()] if hasattr(kind, "dropout")} == {BPETokenizerTrainer}


SPACED: list[TokenizerTrainer] = [
    WordTokenizerTrainer(),
    BPETokenizerTrainer(vocab_size=400),
    BPETokenizerTrainer(vocab_size=400, normalization="nfkc", lowercase=True),
    BPETokenizerTrainer(vocab_size=150, byte_fallback=False),
    WordPieceTokenizerTrainer(vocab_size=150),
    UnigramTokenizerTrainer(vocab_size=400),
]
SPACED_TOKENIZERS = [trainer.train(LINES) for trainer in SPACED]


def check_rows(tokenizer: Tokenizer, lines: list[str]) -> None:
    assert [row.tolist() for row in tokenizer.encode_rows(lines).split()] == tokenizer.encode(lines)


@pytest.mark.parametrize("tokenizer", SPACED_TOKENIZERS, ids=[names(trainer) for trainer in SPACED])
@given(lines=st.lists(st.text(st.sampled_from(" aDHé\u0301\u00a8\u00a0ﬁ2.▁<中\ud800Σ\t"), max_size=12), max_size=4))
def test_cached_words_give_the_same_ids(tokenizer: Tokenizer, lines: list[str]) -> None:
    check_rows(tokenizer, [*lines, *ODD_LINES, *lines])


def test_word_cache_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("weft.text.tokenizer.MAX_CACHED_WORDS", 10)
    tokenizer = BPETokenizerTrainer(vocab_size=400).train(LINES)
    for first in range(0, len(LINES), 2):
        check_rows(tokenizer, [*LINES[first : first + 2], "x" * 100])
        assert tokenizer._cache is not None
        assert len(tokenizer._cache._ids_by_word) <= 10
        assert "x" * 100 not in tokenizer._cache._ids_by_word


def test_cached_words_are_not_encoded_again(monkeypatch: pytest.MonkeyPatch) -> None:
    tokenizer = BPETokenizerTrainer(vocab_size=400).train(LINES)
    tokenizer.encode_rows(LINES)
    encoded: list[str] = []
    assert tokenizer._cache is not None
    monkeypatch.setattr(tokenizer._cache, "_encode", lambda lines: encoded.extend(lines) or tokenizer.encode(lines))  # type: ignore[func-returns-value]
    check_rows(tokenizer, [*LINES, "Der Esel"])
    assert encoded == ["Esel"]
