"""Synthetic typos: reproducible, at the requested rates, never equal to the correct word, never from a test set."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import asdict
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rapidfuzz.distance import OSA
from typer.testing import CliRunner

from weft.cli.main import app
from weft.core.errors import UserError
from weft.data.error_models import (
    KEYBOARD_ROWS,
    PRIOR_COUNT,
    WORD_START,
    ErrorModel,
    KeyboardErrorModel,
    KeyboardLayout,
    TypoEdit,
    TypoRates,
    adjacent_keys,
    find_typo_edits,
    learn_error_model,
    misspellings,
    parse_typo_rates,
)
from weft.data.typos import CleanLine, TypoGenerator, TypoPairs, read_clean_lines, read_held_out_typos

DEFAULT_MODEL = KeyboardErrorModel("qwerty", TypoRates())
ZERO_RATES = TypoRates(replace=0, sound=0, insert=0, double=0, drop=0, swap=0)
WORDS = ["necessary", "beginning", "London", "NATO", "don't", "naïve", "a", "I", "55", "straße"]
ALL_LAYOUTS = pytest.mark.parametrize("layout", KEYBOARD_ROWS)


def model_with_only(**rates: float) -> KeyboardErrorModel:
    return KeyboardErrorModel("qwerty", TypoRates(**{**asdict(ZERO_RATES), **rates}))


def make_pairs(words: Iterable[str], noise: TypoGenerator, copies: int) -> list[tuple[str, str]]:
    lines = (CleanLine(word, number, copies) for number, word in enumerate(words, start=1))
    return list(TypoPairs(lines, noise))


# --- Single errors -------------------------------------------------------------------------------------------------


@ALL_LAYOUTS
def test_adjacency_is_symmetric(layout: KeyboardLayout) -> None:
    near = adjacent_keys(layout)
    assert all(letter in near[other] for letter, others in near.items() for other in others)
    assert all(letter not in others and 2 <= len(others) <= 6 for letter, others in near.items())


def test_adjacent_keys() -> None:
    assert set(adjacent_keys("qwerty")["s"]) == set("awedxz")
    assert set(adjacent_keys("qwertz")["z"]) == set("tugh")
    assert set(adjacent_keys("azerty")["a"]) == set("zq")


@pytest.mark.parametrize(
    ("model", "spellings"),
    [
        (model_with_only(drop=1), {"xe", "ae", "ax"}),
        (model_with_only(swap=1), {"xae", "aex"}),
        (model_with_only(double=1), {"aaxe", "axxe", "axee"}),
        (
            model_with_only(replace=1),
            {*(f"{o}xe" for o in "qwsz"), *(f"a{o}e" for o in "zcsd"), *(f"ax{o}" for o in "wrsd")},
        ),
        (model_with_only(sound=1), {*(f"{o}xe" for o in "eiouy"), *(f"ax{o}" for o in "aiouy")}),
    ],
    ids=["drop", "swap", "double", "replace", "sound"],
)
def test_each_error_kind_produces_its_misspellings(model: KeyboardErrorModel, spellings: set[str]) -> None:
    assert set(misspellings("axe", model)) == spellings


def test_adjacent_key_is_inserted_after_the_letter() -> None:
    assert set(misspellings("m", model_with_only(insert=1))) == {"mn", "mj", "mk"}


def test_rates_of_the_same_misspelling_are_summed() -> None:
    assert misspellings("nn", model_with_only(drop=1.5)) == {"n": 3.0}


def test_capitalization_is_preserved() -> None:
    assert set(misspellings("Me", model_with_only(swap=1))) == set()
    assert set(misspellings("ME", model_with_only(swap=1, double=1))) == {"EM", "MME", "MEE"}
    assert set(misspellings("Me", model_with_only(double=1))) == {"Mme", "Mee"}
    assert {spelling[0] for spelling in misspellings("Mm", model_with_only(replace=1))} == set("NJKM")


@settings(max_examples=30)
@given(st.text("abcdäöz'", min_size=1, max_size=12), st.sampled_from(list(KEYBOARD_ROWS)))
def test_misspellings_have_edit_distance_one(word: str, layout: KeyboardLayout) -> None:
    assert {
        OSA.distance(word, spelling) for spelling in misspellings(word, KeyboardErrorModel(layout, TypoRates()))
    } == {1}


@settings(max_examples=30)
@given(st.text(max_size=12))
def test_misspellings_differ_from_the_word(word: str) -> None:
    made = misspellings(word, DEFAULT_MODEL)
    assert not {word, ""} & set(made)
    assert all(rate > 0 for rate in made.values())


# --- Errors in words -----------------------------------------------------------------------------------------------


def test_noisy_word_is_never_correct() -> None:
    pairs = make_pairs(WORDS, TypoGenerator(DEFAULT_MODEL, errors=3, clean=0), copies=100)
    assert all(wrong != right and wrong for wrong, right in pairs)


def test_clean_rate() -> None:
    pairs = make_pairs(["necessary"] * 40, TypoGenerator(DEFAULT_MODEL, clean=0.3), copies=50)
    clean = sum(wrong == right for wrong, right in pairs)
    assert clean / len(pairs) == pytest.approx(0.3, abs=0.04)


@pytest.mark.parametrize("errors", [1.0, 1.2, 2.0])
def test_mean_number_of_errors(errors: float) -> None:
    pairs = make_pairs(
        ["abcdefghijklmnopqrstuvwxyz"] * 40, TypoGenerator(model_with_only(drop=1), errors=errors, clean=0), copies=25
    )
    dropped = [len(right) - len(wrong) for wrong, right in pairs]
    assert min(dropped) == 1
    assert sum(dropped) / len(dropped) == pytest.approx(errors, abs=0.15)


def test_short_word_gets_a_single_error() -> None:
    pairs = make_pairs(["the"], TypoGenerator(DEFAULT_MODEL, errors=5, clean=0), copies=200)
    assert all(OSA.distance(wrong, right) == 1 for wrong, right in pairs)


def test_error_kinds_occur_in_proportion_to_their_rates() -> None:
    pairs = make_pairs(
        ["abcdefghij"] * 40, TypoGenerator(model_with_only(drop=3, swap=1), errors=1, clean=0), copies=50
    )
    drops = sum(len(wrong) < len(right) for wrong, right in pairs)
    assert drops / len(pairs) == pytest.approx(30 / 39, abs=0.03)


def test_typos_depend_only_on_seed_line_and_copy() -> None:
    many = make_pairs(["beginning"] * 8, TypoGenerator(DEFAULT_MODEL, clean=0), copies=8)
    assert make_pairs(["x", "beginning"], TypoGenerator(DEFAULT_MODEL, clean=0), copies=8)[8:] == many[8:16]
    assert make_pairs(["beginning"], TypoGenerator(DEFAULT_MODEL, clean=0), copies=5) == many[:5]
    assert len(set(many)) > 30
    assert make_pairs(["beginning"], TypoGenerator(DEFAULT_MODEL, clean=0, seed=2), copies=8) != many[:8]


def test_white_space_is_preserved_and_every_word_has_an_error() -> None:
    line = "  two\u00a0words  and more "
    for wrong, _ in make_pairs([line], TypoGenerator(DEFAULT_MODEL, clean=0), copies=50):
        pieces = [piece for piece in wrong.split(" ") if piece]
        assert (wrong[:2], wrong[-1]) == ("  ", " ")
        assert len(pieces) == 3
        assert not {"two", "words", "and", "more"} & set(wrong.split())


def test_word_without_possible_errors_is_unchanged() -> None:
    assert make_pairs(["x"], TypoGenerator(model_with_only(drop=1), clean=0), copies=2) == [("x", "x")] * 2


# --- Error models learned from pairs -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("right", "wrong", "edits"),
    [
        ("begin", "beggin", [TypoEdit("insert", "g", "", "g")]),
        ("beginning", "begining", [TypoEdit("drop", "n", "n", "")]),
        ("receive", "recieve", [TypoEdit("swap", "c", "ei", "ie")]),
        ("apple", "xpple", [TypoEdit("replace", WORD_START, "a", "x")]),
        ("ecstasy", "exstacy", [TypoEdit("replace", "e", "c", "x"), TypoEdit("replace", "a", "s", "c")]),
        ("the", "hte", [TypoEdit("swap", WORD_START, "th", "ht")]),
        ("abcd", "abcd", []),
        ("ab", "", [TypoEdit("drop", WORD_START, "a", ""), TypoEdit("drop", "a", "b", "")]),
        ("", "a", [TypoEdit("insert", WORD_START, "", "a")]),
    ],
)
def test_edits_between_two_spellings(right: str, wrong: str, edits: list[TypoEdit]) -> None:
    assert find_typo_edits(right, wrong) == edits


@given(st.text("abc", max_size=7), st.text("abc", max_size=7))
def test_edits_are_minimal_and_produce_the_misspelling(right: str, wrong: str) -> None:
    edits = find_typo_edits(right, wrong)
    assert len(edits) == OSA.distance(right, wrong)
    assert len(wrong) - len(right) == sum(len(edit.wrong) - len(edit.right) for edit in edits)
    changed = (
        Counter(right) - Counter("".join(edit.right for edit in edits)) + Counter("".join(edit.wrong for edit in edits))
    )
    assert changed == Counter(wrong)


def test_learned_rates_match_kernighan_church_and_gale() -> None:
    """Compare each rate with its equation; the counts are taken by hand."""
    pairs = [("begining", "beginning"), ("recieve", "receive"), ("defenition", "definition"), ("usefull", "useful")]
    learned = learn_error_model(pairs, "pairs")
    letters = sum(len(right) for _, right in pairs)
    assert learned.errors == 1
    assert learned.deletion_rate("n", "n") == pytest.approx((1 + PRIOR_COUNT / letters) / (1 + PRIOR_COUNT))
    assert learned.deletion_rate("z", "z") == pytest.approx(1 / letters)
    assert learned.transposition_rate("e", "i") == pytest.approx((1 + PRIOR_COUNT / letters) / (1 + PRIOR_COUNT))
    assert learned.substitution_rates("i") == pytest.approx({"e": 1 / (6 + PRIOR_COUNT)})
    assert learned.insertion_rates("l") == pytest.approx({"l": 1 / (1 + PRIOR_COUNT)})
    assert learned.insertion_rates("z") == {}


def test_learned_model_reproduces_errors_of_its_pairs() -> None:
    pairs = make_pairs(
        ["Pfeife"], TypoGenerator(learn_error_model([("teh", "the"), ("fa", "pa")] * 500, "pairs"), clean=0), copies=300
    )
    made = Counter(wrong for wrong, _ in pairs)
    assert made.most_common(1)[0][0] == "Ffeife"


def test_sentence_pairs_are_learned_word_by_word() -> None:
    words = [("teh", "the"), ("dgo", "dog"), ("is", "is")]
    sentence = [(" ".join(wrong for wrong, _ in words), " ".join(right for _, right in words)), ("alot", "a lot")]
    learned: list[ErrorModel] = [learn_error_model(pairs, "pairs") for pairs in (words, sentence)]
    from_words, from_sentences = (misspellings("hedgehog", model) for model in learned)
    assert from_words == from_sentences


def test_pairs_without_errors_are_rejected() -> None:
    with pytest.raises(UserError, match=r"^pairs\.tsv: there is nothing to learn from"):
        learn_error_model([("right", "Right"), ("alot", "a lot")], "pairs.tsv")


# --- Files ---------------------------------------------------------------------------------------------------------


def test_number_of_copies_is_read_after_a_tab() -> None:
    lines = ["the\t3", "", "word", "  ", "none\t0"]
    assert list(read_clean_lines(lines, "words", 5)) == [("the", 1, 3), ("word", 3, 5), ("none", 5, 0)]


@pytest.mark.parametrize("count", ["many", "", "1.5", "-1", "²", "3\t4"])
def test_invalid_number_of_copies_is_reported(count: str) -> None:
    with pytest.raises(
        UserError, match=r"^words\.tsv, line 2: expected a word, or a word, a tab and a number of copies"
    ):
        list(read_clean_lines(["one\t1", f"two\t{count}"], "words.tsv", 5))


def test_misspellings_of_a_test_set_are_excluded(tmp_path: Path) -> None:
    all_pairs = make_pairs(["the", "The"], TypoGenerator(DEFAULT_MODEL), copies=400)
    (tmp_path / "test.tsv").write_text("teh\tthe\nHte\tthe\n", "utf-8")
    (tmp_path / "more.txt").write_text("thee\n", "utf-8")
    held_out = read_held_out_typos([tmp_path / "test.tsv", tmp_path / "more.txt"])
    pairs = TypoPairs([CleanLine("the", 1, 400), CleanLine("The", 2, 400)], TypoGenerator(DEFAULT_MODEL), held_out)
    expected = [pair for pair in all_pairs if pair[0].lower() not in {"teh", "hte", "thee"}]
    assert list(pairs) == expected
    assert (pairs.made, pairs.excluded) == (len(expected), 800 - len(expected))
    assert 0 < pairs.excluded < 400
    assert pairs.clean == sum(wrong == right for wrong, right in expected)


# --- Command line --------------------------------------------------------------------------------------------------


def weft(*arguments: str, text: str | None = None) -> tuple[str, str]:
    result = CliRunner().invoke(app, ["noise", *arguments], input=text, catch_exceptions=False)
    assert result.exit_code == 0, result.stderr
    return result.stdout, result.stderr


def test_command_writes_pairs_and_reports_their_number(tmp_path: Path) -> None:
    words, out = tmp_path / "words.txt", tmp_path / "pairs.tsv"
    words.write_text("necessary\nbeginning\n", "utf-8")
    printed = weft(
        str(words), "--out", str(out), "--copies", "3", "--clean-rate", "0", "--errors", "1.0", "--seed", "4"
    )
    rows = [line.split("\t") for line in out.read_text("utf-8").split("\n")[:-1]]
    expected = make_pairs(
        ["necessary", "beginning"], TypoGenerator(DEFAULT_MODEL, errors=1.0, clean=0, seed=4), copies=3
    )
    assert [tuple(row) for row in rows] == expected
    assert printed == ("", "weft: made 6 pairs, 0 of them without an error\n")


def test_command_reads_standard_input_and_writes_standard_output() -> None:
    out, messages = weft("--copies", "2", "--layout", "qwertz", "--rate", "drop=0", text="zu\r\nja\t1\n")
    generator = TypoGenerator(KeyboardErrorModel("qwertz", parse_typo_rates(["drop=0"])))
    assert out == f"{generator('zu', 1, 1)}\tzu\n{generator('zu', 1, 2)}\tzu\n{generator('ja', 2, 1)}\tja\n"
    assert messages.startswith("weft: made 3 pairs, ")


def test_command_learns_from_pairs_and_excludes_a_test_set(tmp_path: Path) -> None:
    examples, test_set = tmp_path / "like.tsv", tmp_path / "test.tsv"
    examples.write_text("teh\tthe\nhte\tthe\n", "utf-8")
    test_set.write_text("teh\tthe\n", "utf-8")
    out, messages = weft(
        "--learn-from", str(examples), "--exclude", str(test_set), "--clean-rate", "0", "--copies", "50", text="the\n"
    )
    assert set(out.split("\n")) == {"hte\tthe", ""}
    excluded = 50 - out.count("\n")
    assert f"{excluded} pairs excluded, since the misspelling is in {test_set}" in messages


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ["--rate", "dorp=1"],
            r'^--rate dorp=1: there is no kind of error "dorp"; did you mean "drop"\? \(the kinds are ',
        ),
        (["--rate", "drop=often"], '^--rate drop=often: expected a number of at least 0, as in drop=2, got "often"$'),
        (["--rate", "drop"], '^--rate drop: expected a number of at least 0, as in drop=2, got ""$'),
        (["--rate", "drop=-1"], "^--rate drop=-1: expected a number of at least 0"),
        (["--rate", "drop=nan"], "^--rate drop=nan: expected a number of at least 0"),
        (["--learn-from", "x.tsv", "--layout", "qwerty"], "^--learn-from learns the kinds of errors: omit --layout"),
        (["--learn-from", "missing.tsv"], r"^missing\.tsv: there is no such file"),
        (["--learn-from", "pairs.txt"], r"^pairs are read from .* one of \.tsv, \.jsonl, .*; got pairs\.txt$"),
        (["--exclude", "missing.tsv"], r"^missing\.tsv: there is no such file"),
        (["missing.txt"], r"^missing\.txt: there is no such file"),
        (["--out", "pairs.txt"], r"^pairs\.txt: weft train reads pairs from a \.tsv"),
        (["--out", "pairs.tsv.gz"], r"^pairs\.tsv\.gz: weft train reads pairs from a \.tsv"),
        ([], "^standard input: is empty; expected correct words, one per line$"),
        ([arg for kind in asdict(ZERO_RATES) for arg in ("--rate", f"{kind}=0")], "^--rate: all rates are 0"),
    ],
)
def test_invalid_option_is_reported_and_no_file_is_created(
    arguments: list[str], message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UserError, match=message):
        weft("--out", "pairs.tsv", *arguments, text="")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "arguments", [["same.tsv"], ["--learn-from", "same.tsv"], ["--exclude", "x", "--exclude", "same.tsv"]]
)
def test_input_file_is_not_overwritten(arguments: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "same.tsv").write_text("teh\tthe\n", "utf-8")
    with pytest.raises(UserError, match=r"^same\.tsv: is read from"):
        weft(*arguments, "--out", "same.tsv", text="the\n")
    assert (tmp_path / "same.tsv").read_text("utf-8") == "teh\tthe\n"


def test_pairs_can_be_written_to_a_device() -> None:
    assert weft("--out", "/dev/null", text="the\n")[1].startswith("weft: made 5 pairs")
