"""Tokenizers: what goes in comes out, whatever it is; learning twice gives the same; marks never come from text."""

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

from weft.core.codec import BOS, EOS, NUM_SPECIAL_TOKENS, PAD
from weft.core.errors import ConfigError, UserError
from weft.core.lazy import Reiterable
from weft.core.seeds import reservoir_sample
from weft.text.text_config import TextConfig, train_tokenizers, training_noise
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


def names(learner: TokenizerTrainer) -> str:
    return repr(learner)


def round_trip(tokenizer: Tokenizer, lines: list[str]) -> list[str]:
    return tokenizer.decode(tokenizer.encode(lines))


@pytest.mark.parametrize("learner", KINDS, ids=names)
def test_known_lines_come_back(learner: TokenizerTrainer) -> None:
    assert round_trip(learner.train(LINES), LINES) == LINES


@pytest.mark.parametrize("learner", KINDS, ids=names)
def test_learning_twice_gives_the_same(learner: TokenizerTrainer) -> None:
    assert learner.train(LINES).to_json() == learner.train(LINES).to_json()


def test_unigram_is_settled_where_the_library_is_not() -> None:
    """Where syllables leave single letters unused, the library's own scores differ from run to run."""
    draws = Random(1)
    letters = "".join(map(chr, range(0x430, 0x460)))
    syllables = ["".join(draws.choices(letters, k=draws.randint(2, 4))) for _ in range(20)]
    words = ["".join(draws.choices(syllables, k=draws.randint(1, 4))) for _ in range(300)]
    lines = [" ".join(draws.choices([*words, *letters], k=8)) for _ in range(300)]
    learner = UnigramTokenizerTrainer(vocab_size=330, min_frequency=1)
    assert len({learner.train(lines).to_json() for _ in range(4)}) == 1


@pytest.mark.parametrize("learner", KINDS, ids=names)
def test_odd_lines_are_encoded_and_the_unknown_is_counted(learner: TokenizerTrainer) -> None:
    tokenizer = learner.train(LINES)
    rows = tokenizer.encode(ODD_LINES)
    assert all(NUM_SPECIAL_TOKENS <= token < tokenizer.size for row in rows for token in row)
    assert (tokenizer.unknown_id is None) == bool(tokenizer.byte_ids)
    if tokenizer.unknown_id is not None:
        assert tokenizer.unknown_id in tokenizer.encode(["中"])[0]
        assert "<unk>" in tokenizer.decode([[tokenizer.unknown_id]])[0]


@pytest.mark.parametrize(
    ("learner", "line", "strangers"),
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
def test_what_has_no_piece_is_named(learner: TokenizerTrainer, line: str, strangers: list[str]) -> None:
    assert learner.train(LINES).unknown_substrings(line) == strangers


@pytest.fixture(scope="module", params=WITH_BYTES, ids=names)
def lossless(request: pytest.FixtureRequest) -> Tokenizer:
    learner: TokenizerTrainer = request.param
    return learner.train(LINES)


def test_odd_lines_come_back_with_bytes(lossless: Tokenizer) -> None:
    assert round_trip(lossless, ODD_LINES) == ODD_LINES


@given(line=st.text(alphabet=st.characters(codec="utf-8")))
def test_every_text_comes_back_with_bytes(lossless: Tokenizer, line: str) -> None:
    assert round_trip(lossless, [line]) == [line]


@pytest.mark.parametrize(
    "learner",
    [
        WordTokenizerTrainer(),
        BPETokenizerTrainer(vocab_size=400),
        WordPieceTokenizerTrainer(vocab_size=150),
        UnigramTokenizerTrainer(vocab_size=400),
    ],
    ids=names,
)
def test_spaces_come_back_wherever_they_stand(learner: TokenizerTrainer) -> None:
    lines = ["  der   Hund ", " ", "das Haus  ."]
    known = [*LINES, *LINES, *lines, *lines]
    assert round_trip(learner.train(known), lines) == lines


@pytest.mark.parametrize("learner", KINDS, ids=names)
def test_text_never_becomes_a_mark_or_a_byte_piece(learner: TokenizerTrainer) -> None:
    """Also where the text that is learned from is full of what marks and byte pieces are called."""
    tokenizer = learner.train([*LINES, *["<pad> <begin> <end> <unk> <0x41> </s>"] * 100])
    line = "<pad> <begin> <end> <0x41> </s>"
    (row,) = tokenizer.encode([line])
    assert min(row) >= NUM_SPECIAL_TOKENS
    assert tokenizer.unknown_id not in row
    assert tokenizer.decode([row]) == [line]


def test_marks_are_left_out_of_text_and_shown_in_pieces() -> None:
    tokenizer = BPETokenizerTrainer(vocab_size=400).train(LINES)
    (row,) = tokenizer.encode(["Der Hund"])
    assert tokenizer.decode([[BOS, *row, EOS, PAD]]) == ["Der Hund"]
    assert tokenizer.tokens([BOS, *row, EOS, PAD]) == ["<begin>", *tokenizer.tokens(row), "<end>", "<pad>"]
    assert "".join(tokenizer.tokens(row)) == "▁Der▁Hund"


def test_half_of_a_surrogate_pair_is_survived() -> None:
    assert round_trip(ByteTokenizerTrainer().train([]), ["a\ud800b"]) == ["a?b"]


def test_pieces_of_a_wrong_id_say_so() -> None:
    with pytest.raises(ValueError, match="id 259 is out of range"):
        ByteTokenizerTrainer().train([]).tokens([259])


@pytest.mark.parametrize(
    ("learner", "wanted"),
    [
        (CharacterTokenizerTrainer(normalization="none"), "e\u0301 ﬁ X"),
        (CharacterTokenizerTrainer(normalization="nfc"), "é ﬁ X"),
        (CharacterTokenizerTrainer(normalization="nfkc"), "é fi X"),
        (CharacterTokenizerTrainer(lowercase=True), "é ﬁ x"),
    ],
)
def test_normalisation_and_lowercase(learner: TokenizerTrainer, wanted: str) -> None:
    line = "e\u0301 ﬁ X"
    assert round_trip(learner.train([line]), [line]) == [wanted]


@pytest.mark.parametrize(
    "kind", [WordTokenizerTrainer, BPETokenizerTrainer, WordPieceTokenizerTrainer, UnigramTokenizerTrainer]
)
def test_size_is_kept_and_a_small_text_gives_what_it_has(kind: type[BPETokenizerTrainer]) -> None:
    for size in (290, 300, 320):
        assert kind(vocab_size=size).train([*LINES, *ODD_LINES]).size <= size + NUM_SPECIAL_TOKENS
    assert NUM_SPECIAL_TOKENS < kind(vocab_size=100_000).train(["a a b b"]).size < 300 + NUM_SPECIAL_TOKENS


def test_a_size_without_room_is_refused() -> None:
    with pytest.raises(UserError, match="vocab_size 256 leaves no room beside the 256 tokens"):
        BPETokenizerTrainer(vocab_size=256).train(LINES)


@pytest.mark.parametrize("learner", [k for k in KINDS if not isinstance(k, ByteTokenizerTrainer)], ids=names)
def test_no_text_is_refused(learner: TokenizerTrainer) -> None:
    with pytest.raises(UserError, match="cannot train a tokenizer"):
        learner.train(["", ""])


def test_rare_letters_are_spelled_in_bytes() -> None:
    tokenizer = BPETokenizerTrainer(vocab_size=400, min_frequency=2).train([*LINES, "ж щ щ"])
    rare, frequent = tokenizer.encode(["ж", "щ"])
    assert set(rare) & set(tokenizer.byte_ids)
    assert not set(frequent) & set(tokenizer.byte_ids)


def test_word_pieces_are_the_longest_from_the_left() -> None:
    tokenizer = WordPieceTokenizerTrainer(vocab_size=60).train(["abab abab abab abc abc"] * 3)
    assert tokenizer.tokens(tokenizer.encode(["ababc"])[0]) == ["▁abab", "c"]


def test_words_know_the_space_before_them() -> None:
    tokenizer = WordTokenizerTrainer(min_frequency=1).train(["(Hallo), Welt ! isn't"])
    (row,) = tokenizer.encode(["(Hallo), Welt ! isn't"])
    assert tokenizer.tokens(row) == ["▁(", "Hallo", ")", ",", "▁Welt", "▁!", "▁isn", "'", "t"]


@pytest.mark.parametrize("learner", KINDS, ids=names)
def test_save_and_load(learner: TokenizerTrainer, tmp_path: Path) -> None:
    tokenizer = learner.train(LINES)
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
def test_a_broken_file_is_refused(content: bytes, tmp_path: Path) -> None:
    (tmp_path / "text.json").write_bytes(content)
    with pytest.raises(UserError, match=r"text\.json: not a tokenizer file"):
        Tokenizer.load(tmp_path / "text.json")


def test_a_file_with_special_tokens_is_refused(tmp_path: Path) -> None:
    library = LibraryTokenizer.from_str(BPETokenizerTrainer(vocab_size=400).train(LINES).to_json())
    library.add_special_tokens([AddedToken("</s>")])
    library.save(str(tmp_path / "text.json"))
    with pytest.raises(UserError, match="special tokens"):
        Tokenizer.load(tmp_path / "text.json")


PAIRS = [(f"ein Haus {number}", f"some house {number}") for number in range(200)]


def test_joint_is_one_tokenizer_over_both_sides() -> None:
    source, target = train_tokenizers(TextConfig(source=CharacterTokenizerTrainer), PAIRS, seed=1)
    assert source is target
    assert target.unknown_id not in target.encode(["eiuo"])[0]


def test_not_joint_is_one_for_each_side() -> None:
    text = TextConfig(
        source=CharacterTokenizerTrainer, target=partial(WordTokenizerTrainer, min_frequency=1), joint=False
    )
    source, target = train_tokenizers(text, PAIRS, seed=1)
    assert source.unknown_id in source.encode_rows(["o"]).ids
    assert target.tokens(target.encode(["some house"])[0]) == ["▁some", "▁house"]


@pytest.mark.parametrize("target", [CharacterTokenizerTrainer, partial(BPETokenizerTrainer, vocab_size=500)])
def test_joint_with_two_kinds_is_refused(target: type[CharacterTokenizerTrainer]) -> None:
    with pytest.raises(ConfigError) as caught:
        train_tokenizers(TextConfig(target=target), PAIRS, seed=1)
    assert [problem.place for problem in caught.value.problems] == ["text.joint"]


def test_joint_with_the_same_kind_written_twice_is_fine() -> None:
    text = TextConfig(
        source=partial(BPETokenizerTrainer, vocab_size=300), target=partial(BPETokenizerTrainer, vocab_size=300)
    )
    source, target = train_tokenizers(text, PAIRS, seed=1)
    assert source is target


def test_sample_is_seeded_bounded_and_even() -> None:
    assert reservoir_sample(iter(PAIRS), 1000, seed=1) == PAIRS
    assert reservoir_sample(iter(PAIRS), 50, seed=1) == reservoir_sample(iter(PAIRS), 50, seed=1)
    assert reservoir_sample(iter(PAIRS), 50, seed=1) != reservoir_sample(iter(PAIRS), 50, seed=2)
    drawn = [pair for seed in range(100) for pair in reservoir_sample(iter(PAIRS), 50, seed)]
    assert len(drawn) == 5000
    late = sum(int(source.split()[-1]) >= 100 for source, _ in drawn)
    assert 2300 < late < 2700


@pytest.mark.parametrize("joint", [True, False])
def test_no_more_than_the_sample_is_learned(joint: bool) -> None:
    text = TextConfig(source=WhitespaceTokenizerTrainer, joint=joint, sample_size=20)
    source, target = train_tokenizers(text, PAIRS, seed=1)
    numbers = [{piece for piece in side.vocabulary() if piece.isdecimal()} for side in (source, target)]
    assert len(numbers[0]) == 20
    assert numbers[0] == numbers[1]  # both sides of a pair, or neither
    assert numbers[0] == {pair[0].split()[-1] for pair in reservoir_sample(PAIRS, 20, seed=1)}


def test_lines_that_can_be_read_only_once_are_learned_whole() -> None:
    text = TextConfig(source=partial(BPETokenizerTrainer, vocab_size=300))
    assert train_tokenizers(text, iter(PAIRS), 1)[0].to_json() == train_tokenizers(text, PAIRS, 1)[0].to_json()
    assert (
        BPETokenizerTrainer(vocab_size=400).train(iter(LINES)).to_json()
        == BPETokenizerTrainer(vocab_size=400).train(LINES).to_json()
    )


def test_a_sample_is_not_kept_in_memory() -> None:
    """While a tokenizer is learned no more than a few of the lines exist."""
    alive, most = 0, 0

    class Line(str):
        def __new__(cls, text: str) -> "Line":
            nonlocal alive, most
            alive += 1
            most = max(most, alive)
            return super().__new__(cls, text)

        def __del__(self) -> None:
            nonlocal alive
            alive -= 1

    pairs = Reiterable(lambda: ((Line(f"a house {number}"), Line(f"b house {number}")) for number in range(5000)))
    train_tokenizers(TextConfig(source=partial(BPETokenizerTrainer, vocab_size=300)), pairs, seed=1)
    assert 0 < most < 2000


def test_rows_in_one_array_are_the_same_rows() -> None:
    tokenizer = BPETokenizerTrainer(vocab_size=400).train(LINES)
    rows = tokenizer.encode_rows(["", *LINES, "", "never seen: \u4e2d"])
    expected = tokenizer.encode(["", *LINES, "", "never seen: \u4e2d"])
    assert [part.tolist() for part in np.split(rows.ids, rows.lengths.cumsum()[:-1])] == expected
    kept = np.arange(len(expected)) % 3 == 0
    chosen = rows.select(kept)
    assert [part.tolist() for part in np.split(chosen.ids, chosen.lengths.cumsum()[:-1])] == expected[::3]


def test_noise_follows_each_side() -> None:
    text = TextConfig(
        source=partial(BPETokenizerTrainer, vocab_size=300, dropout=0.5), target=CharacterTokenizerTrainer, joint=False
    )
    source, target = training_noise(text, train_tokenizers(text, PAIRS, seed=1))
    assert source is not None
    assert target is None


SPACED: list[TokenizerTrainer] = [
    WordTokenizerTrainer(),
    BPETokenizerTrainer(vocab_size=400),
    BPETokenizerTrainer(vocab_size=400, normalization="nfkc", lowercase=True),
    BPETokenizerTrainer(vocab_size=150, byte_fallback=False),
    WordPieceTokenizerTrainer(vocab_size=150),
    UnigramTokenizerTrainer(vocab_size=400),
]
REMEMBERING = [learner.train(LINES) for learner in SPACED]


def check_rows(tokenizer: Tokenizer, lines: list[str]) -> None:
    assert [row.tolist() for row in tokenizer.encode_rows(lines).split()] == tokenizer.encode(lines)


@pytest.mark.parametrize("tokenizer", REMEMBERING, ids=[names(learner) for learner in SPACED])
@given(lines=st.lists(st.text(st.sampled_from(" aDHé\u0301\u00a8\u00a0ﬁ2.▁<中\ud800Σ\t"), max_size=12), max_size=4))
def test_words_that_are_remembered_give_the_same_ids(tokenizer: Tokenizer, lines: list[str]) -> None:
    check_rows(tokenizer, [*lines, *ODD_LINES, *lines])


def test_memory_of_words_stays_small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("weft.text.tokenizer.MAX_CACHED_WORDS", 10)
    tokenizer = BPETokenizerTrainer(vocab_size=400).train(LINES)
    for first in range(0, len(LINES), 2):
        check_rows(tokenizer, [*LINES[first : first + 2], "x" * 100])
        assert tokenizer._cache is not None
        assert len(tokenizer._cache._ids_by_word) <= 10
        assert "x" * 100 not in tokenizer._cache._ids_by_word


def test_known_words_are_not_encoded_again(monkeypatch: pytest.MonkeyPatch) -> None:
    tokenizer = BPETokenizerTrainer(vocab_size=400).train(LINES)
    tokenizer.encode_rows(LINES)
    asked: list[str] = []
    assert tokenizer._cache is not None
    monkeypatch.setattr(tokenizer._cache, "_encode", lambda lines: asked.extend(lines) or tokenizer.encode(lines))  # type: ignore[func-returns-value]
    check_rows(tokenizer, [*LINES, "Der Esel"])
    assert asked == ["Esel"]
