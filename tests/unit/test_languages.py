"""Languages: codes and pairs, inference from file names, detection in texts and corpora, and the choice for a run."""

from collections.abc import Sequence
from pathlib import Path
from random import Random

import pytest

from weft.config.recipe import load_recipe
from weft.core.errors import ConfigError, UserError
from weft.data.language_detection import LanguageDetector, detect_corpus_languages
from weft.data.language_names import languages_of_names
from weft.data.languages import LanguagePair, language_name, parse_language_pair
from weft.inference.system_scores import MetricArguments
from weft.metrics.corpus_metrics import language_options
from weft.metrics.scores import DEFAULT_OPTIONS
from weft.training.autoconfig import choose_recipe
from weft.training.corpus_profile import CorpusProfile, SideProfile, profile_corpus
from weft.training.language_choice import add_languages, choose_languages
from weft.training.recipe_checks import check_recipe

ENGLISH = (
    "Where did you learn to cook so well?", "The weather was fine all week.", "She has never been to the mountains.",
    "I would like to buy a ticket.", "They are waiting for us at the station.", "My brother works in a hospital.",
)  # fmt: skip
SPANISH = (
    "¿Dónde aprendiste a cocinar tan bien?", "Hizo buen tiempo toda la semana.", "Nunca ha estado en las montañas.",
    "Quisiera comprar un billete.", "Nos están esperando en la estación.", "Mi hermano trabaja en un hospital.",
)  # fmt: skip
SENTENCES = SideProfile(7.0, 35.0, 5000, 4.0, 0.0, frozenset("abc"))
WORDS = SideProfile(1.0, 7.0, 5000, 1.0, 0.0, frozenset("abc"))


def many(lines: Sequence[str], count: int = 60) -> list[str]:
    return Random(1).choices(lines, k=count)


def write_table(path: Path, sides: Sequence[Sequence[str]]) -> Path:
    path.write_text("".join("\t".join(row) + "\n" for row in zip(*sides, strict=True)), "utf-8")
    return path


@pytest.mark.parametrize(
    ("files", "pair"),
    [
        (("train.en", "train.de"), "en:de"),
        (("train.en.txt.gz", "train.pt-BR.txt.gz"), "en:pt-BR"),
        (("shards/*.en.xz", "shards/*.zh_Hant.xz"), "en:zh_Hant"),
        (("europarl-v7.fr-en.fr", "europarl-v7.fr-en.en"), "fr:en"),
        (("europarl-v7.fr-en.en", "europarl-v7.fr-en.fr"), "en:fr"),
        (("news.de-en.de", "news.de-en.en"), "de:en"),
        (("corpus_en.txt", "corpus_uk.txt"), "en:uk"),
        (("no.txt", "en.txt"), "no:en"),
        (("en/train.txt", "de/train.txt"), "en:de"),
        (("misspelled.en", "correct.en"), "en:en"),
        (("tatoeba-en-es/source.txt", "tatoeba-en-es/target.txt"), "en:es"),
        (("en-es/train.tsv",), "en:es"),
        (("train.en-de.tsv",), "en:de"),
        (("software-strings/train.en-uk.tsv.gz",), "en:uk"),
        (("train.en-pt_BR.jsonl",), "en:pt_BR"),
        (("data/tatoeba-en-es/tables/train.tsv",), "en:es"),
    ],
)
def test_file_names_tell_the_languages(files: tuple[str, ...], pair: str, tmp_path: Path) -> None:
    found = languages_of_names([[tmp_path / file for file in files]], ("source", "target"))
    assert found == parse_language_pair(pair)


@pytest.mark.parametrize(
    "files",
    [
        ("train.tsv",), ("train.source", "train.target"), ("train.src", "train.tgt"), ("a", "b"), ("train.en", "b"),
        ("en/a.txt", "en/b.txt"), ("how-to-do-it.tsv",), ("train.en-xx.tsv",), ("train.en-*.tsv",), ("a-b/c-d.tsv",),
        ("train." + "en-" * 5000 + ".tsv",),
    ],
)  # fmt: skip
def test_other_file_names_tell_nothing(files: tuple[str, ...], tmp_path: Path) -> None:
    assert languages_of_names([[tmp_path / file for file in files]], ("source", "target")) is None


def test_keys_of_json_tell_the_languages() -> None:
    assert languages_of_names([["pairs.jsonl"]], ("en", "fr")) == LanguagePair("en", "fr")
    assert languages_of_names([["pairs.tsv"]], ("en", "fr")) is None


def test_corpora_of_a_mix_must_agree() -> None:
    old, new, other = ("a.en", "a.de"), ("b.en", "b.de"), ("c.en", "c.fr")
    assert languages_of_names([old, new], ("source", "target")) == LanguagePair("en", "de")
    assert languages_of_names([old, other], ("source", "target")) is None


@pytest.mark.parametrize("invalid", ["en", "en:", "en:de:fr", "english:german", ":"])
def test_invalid_language_pair_is_reported(invalid: str) -> None:
    with pytest.raises(UserError) as caught:
        parse_language_pair(invalid)
    assert f"--languages {invalid}" in str(caught.value)


@pytest.mark.parametrize(
    ("codes", "message"),
    [("[en]", "got 1"), ("[en, de, fr]", "got 3"), ("[en, german]", "'german' is not a language code")],
)
def test_invalid_setting_is_reported(codes: str, message: str) -> None:
    with pytest.raises(ConfigError) as caught:
        check_recipe(load_recipe({"data": {"train": ["a.x", "b.y"]}}, [f"data.languages={codes}"]))
    assert any(problem.place == "data.languages" and message in problem.text for problem in caught.value.problems)


def test_language_names() -> None:
    assert [language_name(code) for code in ("de", "pt-BR", "xyz")] == ["German", "Portuguese", "xyz"]


@pytest.mark.parametrize(
    ("text", "codes", "found"),
    [
        ("Hello, world", ["en", "ru"], [(100.0, "en")]),
        ("Привет", ["en", "ru"], [(100.0, "ru")]),
        ("Привет abcdef", ["en", "ru"], [(50.0, "en"), (50.0, "ru")]),
        ("日本語です", ["ja", "zh"], [(100.0, "ja")]),
        ("Hello", ["en", "en-GB"], [(50.0, "en"), (50.0, "en-GB")]),
        ("123 !?", ["en", "ru"], []),
        ("γειά", ["en", "ru"], []),
        ("ﾆﾎﾝｺﾞ", ["en", "ja"], [(100.0, "ja")]),
        ("Ｈｅｌｌｏ", ["en", "ru"], [(100.0, "en")]),
        ("Hello ʰ 𝒙", ["en", "ru"], [(100.0, "en")]),
    ],
)
def test_script_decides_where_it_can(text: str, codes: list[str], found: list[tuple[float, str]]) -> None:
    assert sorted(map(tuple, LanguageDetector(codes)(text))) == sorted(found)


def test_letter_sequences_distinguish_languages_of_a_script() -> None:
    detector = LanguageDetector(["en", "de", "es", "uk", "ru"])
    for text, language in (
        ("Hola que tal", "es"), ("HOLA QUE TAL", "es"), ("Guten Tag", "de"), ("Thank you", "en"), ("Дякую", "uk"),
        ("Где ты живёшь?", "ru"), ("Hola que tal, Tom. OK?", "es"),
            ("Hola", "es"), ("¡Hola!", "es"), ("Hello.", "en"), ("Tschüss", "de"),
    ):  # fmt: skip
        found = detector(text)
        assert found[0].language == language
        assert [one.confidence for one in found] == sorted((one.confidence for one in found), reverse=True)
        assert sum(one.confidence for one in found) == pytest.approx(100, abs=0.5)


def test_mixed_scripts_share_the_confidence() -> None:
    found = {one.language: one.confidence for one in LanguageDetector(["en", "es", "uk"])("Guten Abend Добрий вечір")}
    assert found["uk"] == pytest.approx(52.4, abs=0.1)
    assert found["en"] + found["es"] == pytest.approx(47.6, abs=0.1)


def test_languages_of_lines_are_detected() -> None:
    assert detect_corpus_languages([many(ENGLISH), many(SPANISH)]) == ["en", "es"]
    few, mixed = many(ENGLISH, 25), [*many(ENGLISH, 30), *many(SPANISH, 30)]
    code = many(("for (i = 0; i < n; i++) x[i] = 1;", "0x00 0xFF 17 == 23"))
    assert detect_corpus_languages([few, mixed, code]) == [None, None, None]


def test_only_sentences_have_a_language() -> None:
    pronunciation = [many(("house", "tree")), many(("h aʊ s", "t ɹ iː"))]
    assert profile_corpus(zip(*pronunciation, strict=True), 1).languages == (None, None)
    assert profile_corpus(zip(many(ENGLISH), many(SPANISH), strict=True), 1).languages == ("en", "es")


def test_names_win_over_detection_with_a_warning() -> None:
    named, agreeing = LanguagePair("en", "pt-BR"), CorpusProfile(9, SENTENCES, SENTENCES, ("en", "pt"))
    choice = choose_languages(named, agreeing)
    assert choice is not None
    assert choice.languages == named
    assert "Warning" not in choice.reason
    choice = choose_languages(named, CorpusProfile(9, SENTENCES, SENTENCES, ("en", "fr")))
    assert choice is not None
    assert choice.languages == named
    assert "Warning: nearly all target lines are French" in choice.reason


def test_unknown_languages_stay_unknown() -> None:
    choice = choose_languages(None, CorpusProfile(9, SENTENCES, SENTENCES, ("en", None)))
    assert choice is not None
    assert choice.languages is None
    assert choose_languages(None, CorpusProfile(9, WORDS, SENTENCES)) is None


@pytest.mark.parametrize(
    ("name", "overrides", "languages"),
    [
        ("pairs.tsv", [], ("en", "es")),
        ("pairs.en-de.tsv", [], ("en", "de")),
        ("pairs.en-de.tsv", ["data.languages=[fr, it]"], ("fr", "it")),
        ("pairs.en-de.tsv", ["data.languages=[]"], ()),
    ],
)
def test_chosen_recipe_has_the_languages(
    name: str, overrides: list[str], languages: tuple[str, ...], tmp_path: Path
) -> None:
    table = write_table(tmp_path / name, [many(ENGLISH), many(SPANISH)])
    chosen = choose_recipe([str(table)], overrides, 1.0, "cpu")
    assert chosen.recipe.data.languages == languages
    assert ("data.languages" in chosen.reasons) == (not overrides)


def test_recipe_without_languages_gets_them(tmp_path: Path) -> None:
    table, lines = write_table(tmp_path / "pairs.tsv", [many(ENGLISH), many(SPANISH)]), list[str]()
    recipe = load_recipe({"data": {"train": [str(table)]}})
    assert add_languages(recipe, lines.append).data.languages == ("en", "es")
    assert "English to Spanish" in lines[0]
    named = load_recipe({"data": {"train": [str(table)], "languages": ["fr", "it"]}})
    assert add_languages(named, lines.append) == named
    missing = load_recipe({"data": {"train": [str(tmp_path / "missing.tsv")]}})
    assert add_languages(missing, lines.append) == missing


def test_metrics_suit_the_target_language() -> None:
    assert language_options(()) == DEFAULT_OPTIONS
    assert [language_options(("en", code)).tokenize for code in ("de", "zh-Hant", "th")] == ["13a", "zh", "char"]
    assert language_options(("en", "ja")).tokenize in ("ja-mecab", "char")
    assert [language_options(("de", code)).stem for code in ("en", "de", "xyz")] == ["porter", "german", "porter"]


def test_options_win_over_the_languages_of_a_model() -> None:
    for arguments, expected in (
        (MetricArguments(["bleu", "meteor"]), ("zh", "porter")),
        (MetricArguments(["bleu", "meteor"], tokenize="intl", stem="german"), ("intl", "german")),
        (MetricArguments(["bleu"], tokenize="13a"), ("13a", "porter")),
    ):
        options = arguments.for_model(arguments.for_evaluation()[1], ("en", "zh"))
        assert (options.tokenize, options.stem) == expected
