"""Misspelled words: repeatable, of the rates that were asked for, never right by chance, and never of a test set."""

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

TYPIST = KeyboardErrorModel("qwerty", TypoRates())
NOTHING = TypoRates(replace=0, sound=0, insert=0, double=0, drop=0, swap=0)
WORDS = ["necessary", "beginning", "London", "NATO", "don't", "naïve", "a", "I", "55", "straße"]
ALL_LAYOUTS = pytest.mark.parametrize("layout", KEYBOARD_ROWS)


def only(**rates: float) -> KeyboardErrorModel:
    return KeyboardErrorModel("qwerty", TypoRates(**{**asdict(NOTHING), **rates}))


def noisy(words: Iterable[str], noise: TypoGenerator, copies: int) -> list[tuple[str, str]]:
    wanted = (CleanLine(word, number, copies) for number, word in enumerate(words, start=1))
    return list(TypoPairs(wanted, noise))


# --- One mistake ---------------------------------------------------------------------------------------------------


@ALL_LAYOUTS
def test_neighbours_are_neighbours_of_each_other(layout: KeyboardLayout) -> None:
    near = adjacent_keys(layout)
    assert all(letter in near[other] for letter, others in near.items() for other in others)
    assert all(letter not in others and 2 <= len(others) <= 6 for letter, others in near.items())


def test_keys_that_touch() -> None:
    assert set(adjacent_keys("qwerty")["s"]) == set("awedxz")
    assert set(adjacent_keys("qwertz")["z"]) == set("tugh")
    assert set(adjacent_keys("azerty")["a"]) == set("zq")


@pytest.mark.parametrize(
    ("habits", "spellings"),
    [
        (only(drop=1), {"xe", "ae", "ax"}),
        (only(swap=1), {"xae", "aex"}),
        (only(double=1), {"aaxe", "axxe", "axee"}),
        (only(replace=1), {*(f"{o}xe" for o in "qwsz"), *(f"a{o}e" for o in "zcsd"), *(f"ax{o}" for o in "wrsd")}),
        (only(sound=1), {*(f"{o}xe" for o in "eiouy"), *(f"ax{o}" for o in "aiouy")}),
    ],
    ids=["drop", "swap", "double", "replace", "sound"],
)
def test_each_kind_makes_what_it_should(habits: KeyboardErrorModel, spellings: set[str]) -> None:
    assert set(misspellings("axe", habits)) == spellings


def test_a_neighbour_is_inserted_after_the_letter() -> None:
    assert set(misspellings("m", only(insert=1))) == {"mn", "mj", "mk"}


def test_two_ways_to_a_spelling_add_up() -> None:
    assert misspellings("nn", only(drop=1.5)) == {"n": 3.0}


def test_capitals_stay_where_they_are() -> None:
    assert set(misspellings("Me", only(swap=1))) == set()
    assert set(misspellings("ME", only(swap=1, double=1))) == {"EM", "MME", "MEE"}
    assert set(misspellings("Me", only(double=1))) == {"Mme", "Mee"}
    assert {spelling[0] for spelling in misspellings("Mm", only(replace=1))} == set("NJKM")


@settings(max_examples=30)
@given(st.text("abcdäöz'", min_size=1, max_size=12), st.sampled_from(list(KEYBOARD_ROWS)))
def test_a_misspelling_is_one_mistake_away(word: str, layout: KeyboardLayout) -> None:
    assert {
        OSA.distance(word, spelling) for spelling in misspellings(word, KeyboardErrorModel(layout, TypoRates()))
    } == {1}


@settings(max_examples=30)
@given(st.text(max_size=12))
def test_a_misspelling_is_another_word(word: str) -> None:
    made = misspellings(word, TYPIST)
    assert not {word, ""} & set(made)
    assert all(rate > 0 for rate in made.values())


# --- Mistakes in words ---------------------------------------------------------------------------------------------


def test_a_word_is_never_right_by_chance() -> None:
    pairs = noisy(WORDS, TypoGenerator(TYPIST, errors=3, clean=0), copies=100)
    assert all(wrong != right and wrong for wrong, right in pairs)


def test_the_share_that_is_left_clean() -> None:
    pairs = noisy(["necessary"] * 40, TypoGenerator(TYPIST, clean=0.3), copies=50)
    clean = sum(wrong == right for wrong, right in pairs)
    assert clean / len(pairs) == pytest.approx(0.3, abs=0.04)


@pytest.mark.parametrize("errors", [1.0, 1.2, 2.0])
def test_the_mean_number_of_mistakes(errors: float) -> None:
    pairs = noisy(["abcdefghijklmnopqrstuvwxyz"] * 40, TypoGenerator(only(drop=1), errors=errors, clean=0), copies=25)
    dropped = [len(right) - len(wrong) for wrong, right in pairs]
    assert min(dropped) == 1
    assert sum(dropped) / len(dropped) == pytest.approx(errors, abs=0.15)


def test_a_short_word_gets_one_mistake() -> None:
    pairs = noisy(["the"], TypoGenerator(TYPIST, errors=5, clean=0), copies=200)
    assert all(OSA.distance(wrong, right) == 1 for wrong, right in pairs)


def test_kinds_are_as_frequent_as_their_rates() -> None:
    pairs = noisy(["abcdefghij"] * 40, TypoGenerator(only(drop=3, swap=1), errors=1, clean=0), copies=50)
    drops = sum(len(wrong) < len(right) for wrong, right in pairs)
    assert drops / len(pairs) == pytest.approx(30 / 39, abs=0.03)


def test_every_draw_depends_on_seed_line_and_copy_alone() -> None:
    many = noisy(["beginning"] * 8, TypoGenerator(TYPIST, clean=0), copies=8)
    assert noisy(["x", "beginning"], TypoGenerator(TYPIST, clean=0), copies=8)[8:] == many[8:16]
    assert noisy(["beginning"], TypoGenerator(TYPIST, clean=0), copies=5) == many[:5]
    assert len(set(many)) > 30
    assert noisy(["beginning"], TypoGenerator(TYPIST, clean=0, seed=2), copies=8) != many[:8]


def test_white_space_stays_and_every_word_has_a_mistake() -> None:
    line = "  two\u00a0words  and more "
    for wrong, _ in noisy([line], TypoGenerator(TYPIST, clean=0), copies=50):
        pieces = [piece for piece in wrong.split(" ") if piece]
        assert (wrong[:2], wrong[-1]) == ("  ", " ")
        assert len(pieces) == 3
        assert not {"two", "words", "and", "more"} & set(wrong.split())


def test_a_word_in_which_nothing_can_be_wrong_stays() -> None:
    assert noisy(["x"], TypoGenerator(only(drop=1), clean=0), copies=2) == [("x", "x")] * 2


# --- Learned from pairs --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("right", "wrong", "made"),
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
def test_mistakes_between_two_spellings(right: str, wrong: str, made: list[TypoEdit]) -> None:
    assert find_typo_edits(right, wrong) == made


@given(st.text("abc", max_size=7), st.text("abc", max_size=7))
def test_mistakes_are_the_fewest_and_lead_to_the_wrong_spelling(right: str, wrong: str) -> None:
    made = find_typo_edits(right, wrong)
    assert len(made) == OSA.distance(right, wrong)
    assert len(wrong) - len(right) == sum(len(one.wrong) - len(one.right) for one in made)
    changed = Counter(right) - Counter("".join(one.right for one in made)) + Counter("".join(one.wrong for one in made))
    assert changed == Counter(wrong)


def test_rates_are_those_of_the_channel_of_kernighan_church_and_gale() -> None:
    """Each rate against its equation, the counts taken by hand."""
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


def test_mistakes_like_those_of_the_pairs() -> None:
    pairs = noisy(
        ["Pfeife"], TypoGenerator(learn_error_model([("teh", "the"), ("fa", "pa")] * 500, "pairs"), clean=0), copies=300
    )
    made = Counter(wrong for wrong, _ in pairs)
    assert made.most_common(1)[0][0] == "Ffeife"


def test_sentences_are_learned_from_word_by_word() -> None:
    words = [("teh", "the"), ("dgo", "dog"), ("is", "is")]
    sentence = [(" ".join(wrong for wrong, _ in words), " ".join(right for _, right in words)), ("alot", "a lot")]
    learned: list[ErrorModel] = [learn_error_model(pairs, "pairs") for pairs in (words, sentence)]
    one, other = (misspellings("hedgehog", habits) for habits in learned)
    assert one == other


def test_pairs_without_a_mistake_teach_nothing() -> None:
    with pytest.raises(UserError, match=r"^pairs\.tsv: there is nothing to learn from"):
        learn_error_model([("right", "Right"), ("alot", "a lot")], "pairs.tsv")


# --- Files ---------------------------------------------------------------------------------------------------------


def test_a_count_after_a_tab_says_how_many_copies() -> None:
    lines = ["the\t3", "", "word", "  ", "none\t0"]
    assert list(read_clean_lines(lines, "words", 5)) == [("the", 1, 3), ("word", 3, 5), ("none", 5, 0)]


@pytest.mark.parametrize("count", ["many", "", "1.5", "-1", "²", "3\t4"])
def test_what_is_no_count_is_told(count: str) -> None:
    with pytest.raises(
        UserError, match=r"^words\.tsv, line 2: expected a word, or a word, a tab and a number of copies"
    ):
        list(read_clean_lines(["one\t1", f"two\t{count}"], "words.tsv", 5))


def test_no_misspelling_of_a_test_set_is_made(tmp_path: Path) -> None:
    everything = noisy(["the", "The"], TypoGenerator(TYPIST), copies=400)
    (tmp_path / "test.tsv").write_text("teh\tthe\nHte\tthe\n", "utf-8")
    (tmp_path / "more.txt").write_text("thee\n", "utf-8")
    held_out = read_held_out_typos([tmp_path / "test.tsv", tmp_path / "more.txt"])
    pairs = TypoPairs([CleanLine("the", 1, 400), CleanLine("The", 2, 400)], TypoGenerator(TYPIST), held_out)
    kept = [pair for pair in everything if pair[0].lower() not in {"teh", "hte", "thee"}]
    assert list(pairs) == kept
    assert (pairs.made, pairs.excluded) == (len(kept), 800 - len(kept))
    assert 0 < pairs.excluded < 400
    assert pairs.clean == sum(wrong == right for wrong, right in kept)


# --- The command ---------------------------------------------------------------------------------------------------


def weft(*arguments: str, text: str | None = None) -> tuple[str, str]:
    done = CliRunner().invoke(app, ["noise", *arguments], input=text, catch_exceptions=False)
    assert done.exit_code == 0, done.stderr
    return done.stdout, done.stderr


def test_the_command_writes_pairs_and_tells_how_many(tmp_path: Path) -> None:
    words, out = tmp_path / "words.txt", tmp_path / "pairs.tsv"
    words.write_text("necessary\nbeginning\n", "utf-8")
    told = weft(str(words), "--out", str(out), "--copies", "3", "--clean-rate", "0", "--errors", "1.0", "--seed", "4")
    rows = [line.split("\t") for line in out.read_text("utf-8").split("\n")[:-1]]
    expected = noisy(["necessary", "beginning"], TypoGenerator(TYPIST, errors=1.0, clean=0, seed=4), copies=3)
    assert [tuple(row) for row in rows] == expected
    assert told == ("", "weft: made 6 pairs, 0 of them without an error\n")


def test_words_come_from_standard_input_and_pairs_go_to_standard_output() -> None:
    out, told = weft("--copies", "2", "--layout", "qwertz", "--rate", "drop=0", text="zu\r\nja\t1\n")
    made = TypoGenerator(KeyboardErrorModel("qwertz", parse_typo_rates(["drop=0"])))
    assert out == f"{made('zu', 1, 1)}\tzu\n{made('zu', 1, 2)}\tzu\n{made('ja', 2, 1)}\tja\n"
    assert told.startswith("weft: made 3 pairs, ")


def test_the_command_learns_and_leaves_out(tmp_path: Path) -> None:
    like, test = tmp_path / "like.tsv", tmp_path / "test.tsv"
    like.write_text("teh\tthe\nhte\tthe\n", "utf-8")
    test.write_text("teh\tthe\n", "utf-8")
    out, told = weft(
        "--learn-from", str(like), "--exclude", str(test), "--clean-rate", "0", "--copies", "50", text="the\n"
    )
    assert set(out.split("\n")) == {"hte\tthe", ""}
    left_out = 50 - out.count("\n")
    assert f"{left_out} pairs excluded, since the misspelling is in {test}" in told


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
        (["--learn-from", "pairs.txt"], r"^pairs are read from .* one \.tsv or \.jsonl .*; got pairs\.txt$"),
        (["--exclude", "missing.tsv"], r"^missing\.tsv: there is no such file"),
        (["missing.txt"], r"^missing\.txt: there is no such file"),
        (["--out", "pairs.txt"], r"^pairs\.txt: weft train reads pairs from a \.tsv"),
        (["--out", "pairs.tsv.gz"], r"^pairs\.tsv\.gz: weft train reads pairs from a \.tsv"),
        ([], "^standard input: is empty; expected correct words, one per line$"),
        ([arg for kind in asdict(NOTHING) for arg in ("--rate", f"{kind}=0")], "^--rate: all rates are 0"),
    ],
)
def test_mistakes_of_a_user_are_told_and_nothing_is_left_behind(
    arguments: list[str], message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UserError, match=message):
        weft("--out", "pairs.tsv", *arguments, text="")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "arguments", [["same.tsv"], ["--learn-from", "same.tsv"], ["--exclude", "x", "--exclude", "same.tsv"]]
)
def test_what_is_read_is_not_written_over(
    arguments: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "same.tsv").write_text("teh\tthe\n", "utf-8")
    with pytest.raises(UserError, match=r"^same\.tsv: is read from"):
        weft(*arguments, "--out", "same.tsv", text="the\n")
    assert (tmp_path / "same.tsv").read_text("utf-8") == "teh\tthe\n"


def test_pairs_can_go_to_a_device() -> None:
    assert weft("--out", "/dev/null", text="the\n")[1].startswith("weft: made 5 pairs")
