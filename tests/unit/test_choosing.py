"""A recipe for data that has none: it always fits, and follows from what the data is like."""

from pathlib import Path
from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from weft.config.recipe import load_recipe
from weft.config.registry import REGISTRY
from weft.config.serialization import to_dict
from weft.config.yaml_files import parse_yaml
from weft.core.errors import UserError
from weft.training.autoconfig import (
    TRANSFORMER_SIZES,
    AutoconfigInputs,
    choose_recipe,
    choose_text_settings,
    choose_transformer_size,
)
from weft.training.corpus_profile import CorpusProfile, SideProfile, profile_corpus
from weft.training.recipe_checks import check_recipe
from weft.training.recipe_draft import choices_to_document, choices_to_yaml, format_choices

WORDS = [f"w{number}ord" for number in range(900)]
PHONES = [f"{first}{second}" for first in "ABCDEF" for second in "XYZ"]
LATIN, CYRILLIC = frozenset("abcdefghij"), frozenset("абвгдежзий")

SENTENCES = SideProfile(words=9.0, letters=50.0, distinct_words=900, uses_per_word=10.0, spaceless=0.0, alphabet=LATIN)
SYMBOLS = SideProfile(words=6.0, letters=15.0, distinct_words=40, uses_per_word=500.0, spaceless=0.0, alphabet=LATIN)
SINGLE = SideProfile(words=1.0, letters=8.0, distinct_words=900, uses_per_word=1.0, spaceless=0.0, alphabet=LATIN)


def lines(pieces: list[str], most: int, count: int = 400, between: str = " ") -> list[str]:
    draws = Random(1)
    return [between.join(draws.choices(pieces, k=draws.randint(1, most))) for _ in range(count)]


def looked(source: list[str], target: list[str]) -> CorpusProfile:
    return profile_corpus(zip(source, target, strict=True), seed=1)


def situation(
    facts: CorpusProfile, minutes: float = 10, rate: float = 1e11, *, has_validation: bool = False
) -> AutoconfigInputs:
    return AutoconfigInputs(facts, minutes, rate, ("a.tsv",), has_validation)


def test_sentences_words_and_symbols_are_told_apart() -> None:
    facts = looked(lines(WORDS, 20), lines(PHONES, 9))
    assert (facts.source.kind, facts.target.kind) == ("sentences", "symbols")
    assert looked(lines(WORDS, 1), lines(WORDS, 1)).source.kind == "words"
    assert facts.pairs == 400


def test_a_script_without_spaces_is_told_by_its_letters() -> None:
    characters = [chr(0x4E00 + number) for number in range(500)]
    facts = looked(lines(characters, 40, between=""), lines(characters, 3, between=""))
    assert (facts.source.kind, facts.target.kind) == ("sentences", "words")


def test_letters_in_common_make_one_vocabulary() -> None:
    other = SideProfile(9.0, 50.0, 900, 10.0, 0.0, CYRILLIC)
    for target, joint, tie in ((SENTENCES, True, "all"), (other, False, "output"), (SYMBOLS, False, "output")):
        recipe = load_recipe(
            choices_to_document(choose_text_settings(situation(CorpusProfile(30_000, SENTENCES, target))))
        )
        assert (recipe.text.joint, recipe.model.tie) == (joint, tie)


def test_words_get_letters_and_their_own_metrics() -> None:
    document: Any = choices_to_document(choose_text_settings(situation(CorpusProfile(30_000, SINGLE, SYMBOLS))))
    recipe = load_recipe(document)
    assert recipe.train.validation.metrics == ("exact", "wer")
    assert [document["text"][side] for side in ("source", "target")] == [{"type": "character"}, {"type": "whitespace"}]


def test_a_beam_of_letters_goes_on_until_its_best_output_has_ended() -> None:
    for target, stop in ((SENTENCES, "finished"), (SYMBOLS, "top"), (SINGLE, "top")):
        recipe = load_recipe(
            choices_to_document(choose_text_settings(situation(CorpusProfile(30_000, SENTENCES, target))))
        )
        assert to_dict(recipe, REGISTRY)["translate"]["search"]["stop_rule"] == stop


def test_a_larger_model_needs_more_data_and_more_time() -> None:
    assert (
        choose_transformer_size(situation(CorpusProfile(30_000, SENTENCES, SENTENCES), 10_000))[0]
        == TRANSFORMER_SIZES[1]
    )
    assert (
        choose_transformer_size(situation(CorpusProfile(5_000_000, SENTENCES, SENTENCES), 10))[0]
        == TRANSFORMER_SIZES[0]
    )
    assert (
        choose_transformer_size(situation(CorpusProfile(5_000_000, SENTENCES, SENTENCES), 100_000))[0]
        == TRANSFORMER_SIZES[-1]
    )


def test_pairs_are_held_out_only_where_none_are_given() -> None:
    facts = CorpusProfile(30_000, SENTENCES, SENTENCES)
    assert load_recipe(
        choices_to_document(choose_text_settings(situation(facts)))
    ).data.validation_fraction == pytest.approx(1000 / 30_000, rel=0.1)
    assert (
        load_recipe(
            choices_to_document(choose_text_settings(situation(facts, has_validation=True)))
        ).data.validation_fraction
        == 0.0
    )


sides = st.sampled_from([SENTENCES, SYMBOLS, SINGLE])


@settings(max_examples=30, deadline=None)
@given(
    pairs=st.integers(1, 10**8),
    source=sides,
    target=sides,
    minutes=st.floats(0.01, 10_000),
    rate=st.floats(1e8, 1e15),
    has_validation=st.booleans(),
)
def test_every_choice_is_a_recipe_that_can_be_trained_and_written(
    pairs: int, source: SideProfile, target: SideProfile, minutes: float, rate: float, has_validation: bool
) -> None:
    choices = choose_text_settings(
        situation(CorpusProfile(pairs, source, target), minutes, rate, has_validation=has_validation)
    )
    document = choices_to_document(choices)
    check_recipe(load_recipe(document))
    assert parse_yaml(choices_to_yaml(document, choices, "a title"), "the text") == document
    assert max(map(len, format_choices(choices, "chosen:").split("\n"))) <= 100


def write(folder: Path) -> list[str]:
    for name, pieces in (("a.en", WORDS), ("a.de", WORDS)):
        (folder / name).write_text("\n".join(lines(pieces, 9)) + "\n", "utf-8")
    return [str(folder / "a.en"), str(folder / "a.de")]


def test_what_a_person_sets_is_as_they_set_it(tmp_path: Path) -> None:
    given_settings = ["model.encoder.layers=7", "train.batch_tokens=99", "train.seed=3"]
    chosen = choose_recipe(write(tmp_path), given_settings, 2.5, "cpu")
    written: Any = parse_yaml(chosen.yaml, "the text")
    assert written["model"]["encoder"]["layers"] == 7
    assert written["train"]["batch_tokens"] == 99
    assert chosen.recipe.train.seed == 3
    assert chosen.recipe.train.minutes == 2.5
    assert "tokens a batch" not in chosen.reasons


def test_with_steps_given_the_reasons_speak_of_them(tmp_path: Path) -> None:
    chosen = choose_recipe(write(tmp_path), ["train.steps=80"], None, "cpu")
    assert chosen.recipe.train.steps == 80
    assert chosen.recipe.train.batch_tokens == 4096
    assert "10 warmup steps, an eighth of the run" in chosen.reasons
    assert "every 10 steps" in chosen.reasons


@pytest.mark.parametrize(
    "settings",
    [
        ["text.source.vocab_size=400"],
        ["text.source=character"],
        ["text.joint=false"],
        ["objective=cross-entropy"],
        ["train.minutes=1"],
        ["data.validation_fraction=0.2"],
    ],
    ids=str,
)
def test_choices_follow_what_a_person_sets(settings: list[str], tmp_path: Path) -> None:
    chosen = choose_recipe(write(tmp_path), settings, None, "cpu")
    check_recipe(chosen.recipe)
    written: Any = parse_yaml(chosen.yaml, "the text")
    assert to_dict(load_recipe(written), REGISTRY) == to_dict(chosen.recipe, REGISTRY)


def test_steps_take_the_place_of_the_clock(tmp_path: Path) -> None:
    chosen = choose_recipe(write(tmp_path), ["train.steps=80"], None, "cpu").recipe
    assert (chosen.train.steps, chosen.train.minutes) == (80, None)
    assert [chosen.train.schedule(80)(step) for step in (5, 10)] == [0.5 * 4e-3, 4e-3]


def test_the_same_thing_is_not_said_twice(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"data\.train is set, but"):
        choose_recipe(write(tmp_path), ["data.train=[x.tsv]"], None, "cpu")


def test_a_script_without_spaces_is_not_scored_by_its_words() -> None:
    chinese = SideProfile(1.1, 20.0, 900, 1.1, 1.0, LATIN)
    chosen = load_recipe(
        choices_to_document(choose_text_settings(situation(CorpusProfile(30_000, SENTENCES, chinese))))
    )
    assert chosen.train.validation.best_metric == "chrf"


def test_of_a_few_pairs_none_are_held_out() -> None:
    chosen = load_recipe(choices_to_document(choose_text_settings(situation(CorpusProfile(50, SENTENCES, SENTENCES)))))
    assert chosen.data.validation_fraction == 0.0
    check_recipe(chosen)


def test_a_wrong_file_is_told(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="there is no such file"):
        choose_recipe([str(tmp_path / "none.tsv")], [], 1, "cpu")
