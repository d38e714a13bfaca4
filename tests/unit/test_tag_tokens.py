"""Tag tokens: tokenizers that never merge them, and training pairs in which they replace shared spans."""

import json
from functools import partial
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from weft.core.errors import ConfigError
from weft.data.corpus import Corpus
from weft.data.data_config import DataConfig
from weft.data.token_cache import open_token_cache
from weft.inference.postprocessor import decode_token_bytes
from weft.text.bpe_dropout import BPEDropout
from weft.text.ibm1 import TranslationTable
from weft.text.lexical_shortlist import ShortlistSize, build_shortlist
from weft.text.marked_text import CLOSE_TAGS, OPEN_TAGS, SINGLE_TAGS, TAG_NAMES, TAGS, tags_are_intact
from weft.text.shared_spans import NUMBER_SHARE, replace_shared_spans
from weft.text.text_config import TextConfig, codec_trainers, train_tokenizers
from weft.text.tokenizer import Tokenizer, unsupported_component
from weft.text.tokenizer_training import (
    BPETokenizerTrainer,
    ByteTokenizerTrainer,
    CharacterTokenizerTrainer,
    TagTokenizerTrainer,
    UnigramTokenizerTrainer,
    WhitespaceTokenizerTrainer,
    WordPieceTokenizerTrainer,
    WordTokenizerTrainer,
)
from weft.text.vocabulary_extension import extend_tokenizer

ONE, TWO = SINGLE_TAGS[:2]
OPEN, CLOSE = OPEN_TAGS[0], CLOSE_TAGS[0]
LINES = [f"{who} {what}{end}" for who in ("the dog", "a cat") for what in ("sleeps", "eats 20 fish") for end in ".!?"]
TRAINERS: dict[str, TagTokenizerTrainer] = {
    "bpe": BPETokenizerTrainer(vocab_size=350),
    "bpe without bytes": BPETokenizerTrainer(vocab_size=90, byte_fallback=False),
    "unigram": UnigramTokenizerTrainer(vocab_size=350),
    "unigram without bytes": UnigramTokenizerTrainer(vocab_size=90, byte_fallback=False),
    "character": CharacterTokenizerTrainer(),
    "character with bytes": CharacterTokenizerTrainer(byte_fallback=True),
}
TOKENIZERS: dict[str, Tokenizer] = {name: trainer.train(LINES, TAGS) for name, trainer in TRAINERS.items()}
TAGGED_LINES = st.lists(st.sampled_from([*TAGS[::5], " ", "dog", "cat", "20", ".", "!"])).map("".join)


def show(text: str) -> str:
    return "".join(TAG_NAMES.get(char, char) for char in text)


@pytest.mark.parametrize("kind", TOKENIZERS)
@given(line=TAGGED_LINES)
def test_each_tag_is_a_token(kind: str, line: str) -> None:
    tokenizer = TOKENIZERS[kind]
    (ids,) = tokenizer.encode([line])
    tags = [char for char in line if char in TAGS]
    assert [token for token in ids if token in tokenizer.tag_ids.values()] == [tokenizer.tag_ids[tag] for tag in tags]
    assert all(len(token) == 1 for token in tokenizer.raw_tokens() if not set(TAGS).isdisjoint(token))
    assert tokenizer.encode_rows([line]).values.tolist() == ids


@pytest.mark.parametrize("kind", TOKENIZERS)
@given(line=TAGGED_LINES)
def test_tags_round_trip(kind: str, line: str) -> None:
    """Only the space behind an open tag that no space precedes moves before it."""
    tokenizer = TOKENIZERS[kind]
    (decoded,) = tokenizer.decode(tokenizer.encode([line]))
    assert decoded.replace(" ", "") == line.replace(" ", "")
    if not any(f"{tag} " in line for tag in OPEN_TAGS):
        assert decoded == line


@pytest.mark.parametrize(
    ("trainer", "plain"),
    [
        (BPETokenizerTrainer(vocab_size=350), BPETokenizerTrainer(vocab_size=350 - len(TAGS))),
        (UnigramTokenizerTrainer(vocab_size=350), UnigramTokenizerTrainer(vocab_size=350 - len(TAGS))),
        (CharacterTokenizerTrainer(), CharacterTokenizerTrainer()),
    ],
    ids=["bpe", "unigram", "character"],
)
def test_text_without_tags_has_the_same_tokens(trainer: TagTokenizerTrainer, plain: TagTokenizerTrainer) -> None:
    tagging, other = trainer.train(LINES, TAGS), plain.train(LINES)
    assert not other.tag_ids
    assert list(map(tagging.tokens, tagging.encode(LINES))) == list(map(other.tokens, other.encode(LINES)))


@pytest.mark.parametrize("kind", ["bpe", "unigram"])
def test_word_after_an_open_tag_has_its_usual_tokens(kind: str) -> None:
    tokenizer = TOKENIZERS[kind]
    (plain, tagged) = tokenizer.encode(["a cat eats", f"a {OPEN}cat{CLOSE} eats"])
    assert [token for token in tagged if token not in tokenizer.tag_ids.values()] == plain


@pytest.mark.parametrize("kind", ["bpe", "unigram", "character"])
def test_texts_of_tokens_join_to_the_decoded_text(kind: str) -> None:
    """Also where a model produces tags and spaces in any order: word alignments count words in both."""
    tokenizer, draws = TOKENIZERS[kind], Random(1)
    tags = list(tokenizer.tag_ids.values())
    for _ in range(3000):
        ids = [
            draws.choice([draws.choice(tags), draws.randrange(3, tokenizer.size)]) for _ in range(draws.randrange(9))
        ]
        joined = b"".join(decode_token_bytes(ids, tokenizer)).decode()
        assert joined.strip(" ") == tokenizer.decode([ids])[0].strip(" ")


def test_tags_in_the_training_text_merge_with_nothing() -> None:
    lines = [f"(see {ONE}: {OPEN}dogs{CLOSE}!)"] * 20
    for trainer in TRAINERS.values():
        tokenizer = trainer.train(lines, TAGS)
        assert tokenizer.decode(tokenizer.encode(lines)) == lines
        assert sorted(tokenizer.tag_ids) == sorted(TAGS)
        assert all(len(token) == 1 for token in tokenizer.raw_tokens() if not set(TAGS).isdisjoint(token))


def test_tags_are_displayed_as_numbers() -> None:
    tokenizer = TOKENIZERS["bpe"]
    tags = [tokenizer.tag_ids[tag] for tag in (SINGLE_TAGS[0], OPEN_TAGS[1], CLOSE_TAGS[1])]
    assert tokenizer.tokens(tags) == ["⟦1⟧", "⟦(2⟧", "⟦)2⟧"]


@pytest.mark.parametrize("kind", TOKENIZERS)
def test_file_with_tags_is_loaded(kind: str, tmp_path: Path) -> None:
    tokenizer = TOKENIZERS[kind]
    tokenizer.save(tmp_path / "tokenizer.json")
    loaded = Tokenizer.load(tmp_path / "tokenizer.json")
    assert (loaded.fingerprint, loaded.tag_ids) == (tokenizer.fingerprint, tokenizer.tag_ids)
    assert loaded.reversed().tag_ids == tokenizer.tag_ids


@pytest.mark.parametrize("pattern", [{"Regex": "(a*)*b"}, {"String": "a"}])
def test_file_with_other_replacements_is_rejected(pattern: dict[str, str]) -> None:
    config: dict[str, Any] = json.loads(TOKENIZERS["bpe"].to_json())
    config["normalizer"]["normalizers"].append({"type": "Replace", "pattern": pattern, "content": "b"})
    assert unsupported_component(config) == "normalizer"


def test_dropout_never_splits_tags() -> None:
    tokenizer = TOKENIZERS["bpe"]
    line = f"the {OPEN}dog{CLOSE} eats {ONE}."
    (ids,) = tokenizer.encode([line])
    dropout = BPEDropout(tokenizer, 0.5)
    noisy = [dropout(ids, Random(number)) for number in range(20)]
    assert len({tuple(row) for row in noisy}) > 1
    assert tokenizer.decode(noisy) == [line] * 20


def test_extended_tokenizer_keeps_its_tags() -> None:
    tokenizer = TOKENIZERS["bpe"]
    extended = extend_tokenizer(tokenizer, [f"žaba {ONE} {OPEN}žaba{CLOSE}"] * 3, 20, merges=True).tokenizer
    assert extended.tag_ids == tokenizer.tag_ids
    (row,) = extended.encode([f"žaba {ONE}"])
    assert extended.tokens(row) == ["▁žaba", "▁", "⟦1⟧"]


def test_shortlist_has_the_tags_of_the_source() -> None:
    tokenizer = TOKENIZERS["bpe"]
    table = TranslationTable(np.array([3]), np.array([3]), np.array([1.0]))
    counts = np.zeros(tokenizer.size, np.int64)
    shortlist = build_shortlist(table, counts, tokenizer, tokenizer, ShortlistSize(best=1, frequent=1))
    (row,) = tokenizer.encode([f"see{OPEN}{ONE}{CLOSE}"])
    tags = [tokenizer.tag_ids[tag] for tag in (OPEN, ONE, CLOSE)]
    assert shortlist.covers(row, [*tags, *tokenizer.encode([""])[0], *tokenizer.encode([ONE])[0]])
    assert not shortlist.covers(row, [tokenizer.tag_ids[TWO]])


@pytest.mark.parametrize(
    "kind",
    [ByteTokenizerTrainer, WhitespaceTokenizerTrainer, WordTokenizerTrainer, WordPieceTokenizerTrainer],
)
def test_kinds_without_tags_are_refused(kind: type) -> None:
    for text in (
        TextConfig(source=kind, tag_tokens=True),
        TextConfig(source=CharacterTokenizerTrainer, target=kind, joint=False, tag_tokens=True),
    ):
        with pytest.raises(ConfigError, match=r"text\.tag_tokens: needs a tokenizer of the type bpe"):
            codec_trainers(text)


def test_tokenizers_are_trained_on_text_in_which_tags_replace_spans() -> None:
    pairs = [(f"open %(filename)s {word}", f"abrir %(filename)s {word}") for word in ("now", "here", "there")] * 20
    text = TextConfig(source=partial(BPETokenizerTrainer, vocab_size=400), tag_tokens=True)
    tagged, _ = train_tokenizers(text, pairs, seed=1)
    plain, _ = train_tokenizers(TextConfig(source=text.source), pairs, seed=1)
    assert "filename" in plain.vocabulary()
    assert "filename" not in tagged.vocabulary()


@pytest.mark.parametrize(
    ("source", "target", "expected"),
    [
        ("See {n} files", "Ver {n} archivos", ("See ⟦1⟧ files", "Ver ⟦1⟧ archivos")),
        ("%s of %s in {x}", "{x}: %s de %s", ("⟦1⟧ of ⟦2⟧ in ⟦3⟧", "⟦3⟧: ⟦1⟧ de ⟦2⟧")),
        ("<b>big</b> dog", "perro <b>grande</b>", ("⟦(1⟧big⟦)1⟧ dog", "perro ⟦(1⟧grande⟦)1⟧")),
        ("<b>x <i>y</i></b>", "<b>x <i>y</b>", ("⟦(1⟧x ⟦1⟧y</i>⟦)1⟧", "⟦(1⟧x ⟦1⟧y⟦)1⟧")),
        ("Hi {a}", "Hola {b}", ("Hi {a}", "Hola {b}")),
        ("%s and %s", "%s", ("%s and %s", "%s")),
        (f"see {ONE}", f"ver {ONE}", ("see \ufffd", "ver \ufffd")),
        (f"{TWO}{{n}}", f"{{n}}{OPEN}", ("\ufffd⟦1⟧", "⟦1⟧\ufffd")),
        ("%s " * 17, "%s " * 17, ("%s " * 17, "%s " * 17)),  # more spans than tags
        ("", "{n}", ("", "{n}")),
    ],
)
def test_shared_spans(source: str, target: str, expected: tuple[str, str]) -> None:
    tagged = replace_shared_spans((source, target))
    assert tuple(map(show, tagged)) == expected


def test_crossing_elements_become_single_tags() -> None:
    source, target = replace_shared_spans(("<b>a</b><i>b</i>", "<b>a<i>b</b></i>"))
    assert not set(OPEN_TAGS[1:]) & set(source + target)
    for line in (source, target):
        assert tags_are_intact(line, [char for char in source if char in TAGS])


@given(
    st.lists(st.sampled_from(["<b>", "</b>", "<i>", "</i>", "{n}", "😀", " a ", "3", ONE]), max_size=12),
    st.randoms(use_true_random=False),
)
def test_both_sides_have_the_same_tags_in_valid_order(parts: list[str], rng: Random) -> None:
    shuffled = rng.sample(parts, len(parts))
    source, target = replace_shared_spans(("".join(parts), "".join(shuffled)))
    tags = [char for char in source if char in TAGS]
    assert tags_are_intact(source, tags)
    assert tags_are_intact(target, tags)


def test_numbers_become_tags_in_a_share_of_the_pairs() -> None:
    pairs = [(f"{number} cats", f"{number} gatos") for number in range(2000)]
    tagged = [replace_shared_spans(pair) for pair in pairs]
    assert [replace_shared_spans(pair) for pair in pairs] == tagged
    share = np.mean([source.startswith(ONE) for source, _ in tagged])
    assert abs(share - NUMBER_SHARE) < 0.05
    assert all((source[0] == ONE) == (target[0] == ONE) for source, target in tagged)


@pytest.mark.parametrize("filtered", [True, False], ids=["training", "validation"])
def test_cache_holds_tags_if_the_tokenizers_have_them(filtered: bool, tmp_path: Path) -> None:
    (tmp_path / "pairs.tsv").write_text("the {dog}\ta {dog}\nthe {dog}\ta {dog}\nthe {cat}\ta {cat}\n", "utf-8")
    corpus, settings = Corpus([tmp_path / "pairs.tsv"]), DataConfig(cache=str(tmp_path / "cache"))
    tokenizer = TOKENIZERS["bpe"]
    cache = open_token_cache(corpus, tokenizer, tokenizer, settings, filtered=filtered)
    lines = [tokenizer.decode([cache.row(pair, side).tolist() for side in (0, 1)]) for pair in range(len(cache))]
    assert lines == [[f"the {ONE}", f"a {ONE}"]] * (2 if filtered else 3)  # duplicates are those of the files
    plain = CharacterTokenizerTrainer().train([*LINES, "{}"])
    without = open_token_cache(corpus, plain, plain, settings)
    assert plain.decode([without.row(0, 0).tolist()]) == ["the {dog}"]
