"""Datasets of the catalog: splits are disjoint and stable."""

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
    TATOEBA_UK,
    DatasetInfo,
    alphanumeric_key,
    find_dataset,
    format_dataset_table,
    read_cmudict,
    read_codespell,
    read_tatoeba,
)
from weft.data.datasets.hash_split import DatasetSplits, HashSplitter, SplitRule, split_dataset

PAIRS = [(f"Sentence number {number}.", f"Frase número {number}.") for number in range(3_000)]
RULES = {name: entry.splitter.rule for name, entry in DATASETS.items() if isinstance(entry.splitter, HashSplitter)}
EACH_RULE = pytest.mark.parametrize("rule", RULES.values(), ids=RULES)
letters = st.text(st.sampled_from("aAbB .!?'"), min_size=1, max_size=4)


def sources(splits: DatasetSplits) -> tuple[set[str], set[str], set[str]]:
    """Return the sources of each split."""
    train, valid = ({source for source, _ in pairs} for pairs in (splits.train, splits.valid))
    return train, valid, {source for source, *_ in splits.test}


@EACH_RULE
def test_every_pair_is_in_exactly_one_split(rule: SplitRule) -> None:
    splits = split_dataset(PAIRS, rule)
    tested = [(source, target) for source, *targets in splits.test for target in targets]
    assert sorted([*splits.train, *splits.valid, *tested]) == sorted(PAIRS)
    assert len(splits.test) == pytest.approx(3_000 * rule.test / rule.parts, rel=0.5)
    assert len(splits.valid) == pytest.approx(3_000 * rule.valid / rule.parts, rel=0.5)


@EACH_RULE
@settings(max_examples=30)
@given(st.lists(st.tuples(letters, letters)))
def test_equal_keys_are_in_the_same_split(rule: SplitRule, pairs: list[tuple[str, str]]) -> None:
    uppercase = [(source.upper().replace(".", "!"), target) for source, target in PAIRS[:400]]
    splits = split_dataset([*PAIRS[:400], *uppercase, *pairs], rule)
    keys = [{rule.key(source) for source in side} for side in sources(splits)]
    assert all(keys)
    assert not any(first & second for first, second in combinations(keys, 2))


def test_key_ignores_case_spaces_and_punctuation() -> None:
    assert normalize_words("Is  it YOU?") == normalize_words("is it you!") == "is it you"
    assert normalize_words("It's you.") != normalize_words("Its you.")


def test_alphanumeric_key_ignores_apostrophes() -> None:
    assert alphanumeric_key("dog's") == alphanumeric_key("Dogs") == "dogs"


@EACH_RULE
def test_split_of_a_source_does_not_depend_on_other_pairs(rule: SplitRule) -> None:
    whole, half = (sources(split_dataset(pairs, rule)) for pairs in (PAIRS, PAIRS[::-2]))
    assert all(half)
    assert all(fewer <= more for fewer, more in zip(half, whole, strict=True))


@pytest.mark.parametrize(
    ("entry", "held_out"),
    [
        (TATOEBA, "11bc6e1ce26ed0f0"),
        (TATOEBA_UK, "11bc6e1ce26ed0f0"),
        (CMUDICT, "a39f469f07a5e1de"),
        (CODESPELL, "bdb6d27d9d9a0990"),
    ],
    ids=lambda value: value.name if isinstance(value, DatasetInfo) else "",
)
def test_splits_are_deterministic(entry: DatasetInfo, held_out: str) -> None:
    test_split = "\n".join(sorted(sources(split_dataset(PAIRS, RULES[entry.name]))[2]))
    assert sha256(test_split.encode()).hexdigest()[:16] == held_out


def test_targets_of_a_held_out_source_are_grouped() -> None:
    everything = SplitRule(normalize_words, "the words", parts=1, test=1, valid=0)
    splits = split_dataset([("Go.", "Ve."), ("Run.", "Corre."), ("Go.", "Vete."), ("Go.", "Ve.")], everything)
    assert splits == ([], [], [("Go.", "Ve.", "Vete."), ("Run.", "Corre.")])


def test_duplicate_pairs_are_merged() -> None:
    nothing_held_out = SplitRule(normalize_words, "the words", parts=1, test=0, valid=0)
    assert split_dataset([("a", "b"), ("a", "b")], nothing_held_out).train == [("a", "b")]


def test_tatoeba_is_read_without_attribution() -> None:
    assert list(read_tatoeba(["Go.\tVe.\tCC-BY #1 (CM) & #2 (x)"])) == [("Go.", "Ve.")]


def test_cmudict_is_read_without_variants_stress_and_comments() -> None:
    lines = ["cat K AE1 T", "cat(2) K AE0 T", "d'artagnan D AH0 R T AE1 NG Y AH0 N # foreign french"]
    cat = ("cat", "K AE T")
    assert list(read_cmudict(lines)) == [cat, cat, ("d'artagnan", "D AH R T AE NG Y AH N")]


def test_codespell_entries_with_several_corrections_are_skipped() -> None:
    lines = ["teh->the", "aache->cache, ache,", "clas->class, disabled since it is a name", "alot->a lot"]
    assert list(read_codespell(lines)) == [("teh", "the"), ("alot", "a lot")]


def test_table_is_aligned() -> None:
    titles, *rows = format_dataset_table(DATASETS.values()).split("\n")
    for title, value in (("task", "task"), ("license", "license"), ("description", "description")):
        columns = {row.index(str(vars(entry)[value])) for row, entry in zip(rows, DATASETS.values(), strict=True)}
        assert columns == {titles.index(title)}
    assert [row.split()[0] for row in rows] == list(DATASETS)
    assert "140,868" in rows[0]


def test_unknown_dataset_suggests_similar_name() -> None:
    with pytest.raises(UserError) as caught:
        find_dataset("tatoeba-es")
    assert str(caught.value) == (
        'there is no dataset "tatoeba-es"; did you mean "tatoeba-en-es"? '
        "(the datasets are tatoeba-en-es, tatoeba-en-uk, software-strings, cmudict, codespell)"
    )
