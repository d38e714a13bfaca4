"""Corpora of the catalogue: what is held out never leaks into training, and never moves."""

from hashlib import sha256
from itertools import combinations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from weft.core.errors import UserError
from weft.data.corpus import normalize_words
from weft.data.datasets.catalog import (
    CMUDICT,
    CODESPELL,
    DATASETS,
    TATOEBA,
    DatasetInfo,
    DatasetSplits,
    MultiReferenceExample,
    SplitRule,
    alphanumeric_key,
    find_dataset,
    format_dataset_table,
    read_cmudict,
    read_codespell,
    read_tatoeba,
    split_dataset,
)

PAIRS = [(f"Sentence number {number}.", f"Frase número {number}.") for number in range(3_000)]
ENTRIES = pytest.mark.parametrize("entry", DATASETS.values(), ids=DATASETS)
letters = st.text(st.sampled_from("aAbB .!?'"), min_size=1, max_size=4)


def sources(splits: DatasetSplits) -> tuple[set[str], set[str], set[str]]:
    """The sources of each split."""
    train, valid = ({source for source, _ in pairs} for pairs in (splits.train, splits.valid))
    return train, valid, {example.source for example in splits.test}


@ENTRIES
def test_every_pair_is_in_one_split_of_the_right_size(entry: DatasetInfo) -> None:
    splits = split_dataset(PAIRS, entry.split_rule)
    tested = [pair for example in splits.test for pair in example.pairs()]
    assert sorted([*splits.train, *splits.valid, *tested]) == sorted(PAIRS)
    assert len(splits.test) == pytest.approx(3_000 * entry.split_rule.test / entry.split_rule.parts, rel=0.5)
    assert len(splits.valid) == pytest.approx(3_000 * entry.split_rule.valid / entry.split_rule.parts, rel=0.5)


@ENTRIES
@settings(max_examples=30)
@given(st.lists(st.tuples(letters, letters)))
def test_equal_keys_are_never_in_two_splits(entry: DatasetInfo, pairs: list[tuple[str, str]]) -> None:
    shouted = [(source.upper().replace(".", "!"), target) for source, target in PAIRS[:400]]
    splits = split_dataset([*PAIRS[:400], *shouted, *pairs], entry.split_rule)
    keys = [{entry.split_rule.key(source) for source in side} for side in sources(splits)]
    assert all(keys)
    assert not any(one & other for one, other in combinations(keys, 2))


def test_case_spaces_and_punctuation_do_not_make_another_sentence() -> None:
    assert normalize_words("Is  it YOU?") == normalize_words("is it you!") == "is it you"
    assert normalize_words("It's you.") != normalize_words("Its you.")


def test_an_apostrophe_does_not_make_another_word() -> None:
    assert alphanumeric_key("dog's") == alphanumeric_key("Dogs") == "dogs"


@ENTRIES
def test_a_source_stays_in_its_split_whatever_stands_beside_it(entry: DatasetInfo) -> None:
    whole, half = (sources(split_dataset(pairs, entry.split_rule)) for pairs in (PAIRS, PAIRS[::-2]))
    assert all(half)
    assert all(fewer <= more for fewer, more in zip(half, whole, strict=True))


@pytest.mark.parametrize(
    ("entry", "held_out"),
    [(TATOEBA, "11bc6e1ce26ed0f0"), (CMUDICT, "a39f469f07a5e1de"), (CODESPELL, "bdb6d27d9d9a0990")],
    ids=lambda value: value.name if isinstance(value, DatasetInfo) else "",
)
def test_a_split_is_the_same_on_every_machine(entry: DatasetInfo, held_out: str) -> None:
    listed = "\n".join(sorted(sources(split_dataset(PAIRS, entry.split_rule))[2]))
    assert sha256(listed.encode()).hexdigest()[:16] == held_out


def test_all_different_targets_of_a_held_out_source_stand_together() -> None:
    everything = SplitRule(normalize_words, "the words", parts=1, test=1, valid=0)
    splits = split_dataset([("Go.", "Ve."), ("Run.", "Corre."), ("Go.", "Vete."), ("Go.", "Ve.")], everything)
    assert splits == (
        [],
        [],
        [MultiReferenceExample("Go.", ("Ve.", "Vete.")), MultiReferenceExample("Run.", ("Corre.",))],
    )


def test_equal_pairs_are_one() -> None:
    nothing_held_out = SplitRule(normalize_words, "the words", parts=1, test=0, valid=0)
    assert split_dataset([("a", "b"), ("a", "b")], nothing_held_out).train == [("a", "b")]


def test_tatoeba_is_read_without_the_names_of_its_writers() -> None:
    assert list(read_tatoeba(["Go.\tVe.\tCC-BY #1 (CM) & #2 (x)"])) == [("Go.", "Ve.")]


def test_cmudict_is_read_without_variants_stress_and_comments() -> None:
    lines = ["cat K AE1 T", "cat(2) K AE0 T", "d'artagnan D AH0 R T AE1 NG Y AH0 N # foreign french"]
    cat = ("cat", "K AE T")
    assert list(read_cmudict(lines)) == [cat, cat, ("d'artagnan", "D AH R T AE NG Y AH N")]


def test_codespell_is_read_where_there_is_one_correction() -> None:
    lines = ["teh->the", "aache->cache, ache,", "clas->class, disabled since it is a name", "alot->a lot"]
    assert list(read_codespell(lines)) == [("teh", "the"), ("alot", "a lot")]


def test_the_table_is_aligned() -> None:
    titles, *rows = format_dataset_table(DATASETS.values()).split("\n")
    for title, value in (("task", "task"), ("license", "license"), ("description", "description")):
        places = {row.index(str(vars(entry)[value])) for row, entry in zip(rows, DATASETS.values(), strict=True)}
        assert places == {titles.index(title)}
    assert [row.split()[0] for row in rows] == list(DATASETS)
    assert "140,868" in rows[0]


def test_an_unknown_name_is_told_with_the_nearest() -> None:
    with pytest.raises(UserError) as caught:
        find_dataset("tatoeba")
    assert str(caught.value) == (
        'there is no dataset "tatoeba"; did you mean "tatoeba-en-es"? '
        "(the datasets are tatoeba-en-es, cmudict, codespell)"
    )
