"""Automatic configuration: a valid recipe chosen from the profile of the data."""

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
    choices_to_document,
    choose_recipe,
    choose_text_settings,
    choose_transformer_size,
)
from weft.training.commented_recipe import format_reasons, format_yaml
from weft.training.corpus_profile import CorpusProfile, SideProfile, profile_corpus
from weft.training.recipe_checks import check_recipe

WORDS = [f"w{number}ord" for number in range(900)]
PHONES = [f"{first}{second}" for first in "ABCDEF" for second in "XYZ"]
LATIN, CYRILLIC = frozenset("abcdefghij"), frozenset("абвгдежзий")

SENTENCES = SideProfile(words=9.0, letters=50.0, distinct_words=900, uses_per_word=10.0, spaceless=0.0, alphabet=LATIN)
SYMBOLS = SideProfile(words=6.0, letters=15.0, distinct_words=40, uses_per_word=500.0, spaceless=0.0, alphabet=LATIN)
SINGLE = SideProfile(words=1.0, letters=8.0, distinct_words=900, uses_per_word=1.0, spaceless=0.0, alphabet=LATIN)


def lines(words: list[str], max_words: int, count: int = 400, separator: str = " ") -> list[str]:
    rng = Random(1)
    return [separator.join(rng.choices(words, k=rng.randint(1, max_words))) for _ in range(count)]


def profile_lines(source: list[str], target: list[str]) -> CorpusProfile:
    return profile_corpus(zip(source, target, strict=True), seed=1)


def make_inputs(
    profile: CorpusProfile, minutes: float = 10, rate: float = 1e11, *, has_validation: bool = False
) -> AutoconfigInputs:
    return AutoconfigInputs(profile, minutes, rate, ("a.tsv",), has_validation)


def test_sentences_words_and_symbols_are_distinguished() -> None:
    profile = profile_lines(lines(WORDS, 20), lines(PHONES, 9))
    assert (profile.source.kind, profile.target.kind) == ("sentences", "symbols")
    assert profile_lines(lines(WORDS, 1), lines(WORDS, 1)).source.kind == "words"
    assert profile.pairs == 400


def test_spaceless_script_is_classified_by_its_characters() -> None:
    characters = [chr(0x4E00 + number) for number in range(500)]
    profile = profile_lines(lines(characters, 40, separator=""), lines(characters, 3, separator=""))
    assert (profile.source.kind, profile.target.kind) == ("sentences", "words")


def test_shared_alphabet_gives_joint_vocabulary() -> None:
    other = SideProfile(9.0, 50.0, 900, 10.0, 0.0, CYRILLIC)
    for target, joint, tie in ((SENTENCES, True, "all"), (other, False, "output"), (SYMBOLS, False, "output")):
        recipe = load_recipe(
            choices_to_document(choose_text_settings(make_inputs(CorpusProfile(30_000, SENTENCES, target))))
        )
        assert (recipe.text.joint, recipe.model.tie) == (joint, tie)


def test_lines_that_are_not_single_sentences_are_translated_whole() -> None:
    paragraphs = profile_lines(["A cat sleeps here. It dreams of fish."] * 20, ["Un gato duerme."] * 20).source
    assert paragraphs.several_sentences == 1
    for source, splits in ((SENTENCES, True), (paragraphs, False), (SINGLE, True), (SYMBOLS, True)):
        document = choices_to_document(choose_text_settings(make_inputs(CorpusProfile(30_000, source, SENTENCES))))
        assert load_recipe(document).translate.split_sentences == splits
    document = choices_to_document(choose_text_settings(make_inputs(CorpusProfile(30_000, SINGLE, SYMBOLS))))
    assert not load_recipe(document).translate.split_sentences


def test_words_use_characters_and_word_metrics() -> None:
    document: Any = choices_to_document(choose_text_settings(make_inputs(CorpusProfile(30_000, SINGLE, SYMBOLS))))
    recipe = load_recipe(document)
    assert recipe.train.validation.metrics == ("exact", "wer")
    assert [document["text"][side] for side in ("source", "target")] == [{"type": "character"}, {"type": "whitespace"}]


def test_stop_rule_depends_on_target_kind() -> None:
    for target, stop in ((SENTENCES, "finished"), (SYMBOLS, "top"), (SINGLE, "top")):
        recipe = load_recipe(
            choices_to_document(choose_text_settings(make_inputs(CorpusProfile(30_000, SENTENCES, target))))
        )
        assert to_dict(recipe, REGISTRY)["translate"]["search"]["stop_rule"] == stop


def test_larger_model_needs_more_data_and_time() -> None:
    assert (
        choose_transformer_size(make_inputs(CorpusProfile(30_000, SENTENCES, SENTENCES), 10_000))[0]
        == TRANSFORMER_SIZES[1]
    )
    assert (
        choose_transformer_size(make_inputs(CorpusProfile(5_000_000, SENTENCES, SENTENCES), 10))[0]
        == TRANSFORMER_SIZES[0]
    )
    assert (
        choose_transformer_size(make_inputs(CorpusProfile(5_000_000, SENTENCES, SENTENCES), 100_000))[0]
        == TRANSFORMER_SIZES[-1]
    )


def test_validation_pairs_are_held_out_only_if_none_are_provided() -> None:
    profile = CorpusProfile(30_000, SENTENCES, SENTENCES)
    assert load_recipe(
        choices_to_document(choose_text_settings(make_inputs(profile)))
    ).data.validation_fraction == pytest.approx(1000 / 30_000, rel=0.1)
    assert (
        load_recipe(
            choices_to_document(choose_text_settings(make_inputs(profile, has_validation=True)))
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
def test_every_chosen_recipe_is_valid_and_serializable(
    pairs: int, source: SideProfile, target: SideProfile, minutes: float, rate: float, has_validation: bool
) -> None:
    choices = choose_text_settings(
        make_inputs(CorpusProfile(pairs, source, target), minutes, rate, has_validation=has_validation)
    )
    document = choices_to_document(choices)
    check_recipe(load_recipe(document))
    reasons = {choice.place: choice.reason for choice in choices if choice.reason}
    assert parse_yaml(format_yaml(document, reasons, "# a title"), "the text") == document
    assert max(map(len, format_reasons(reasons, "chosen:").split("\n"))) <= 100


def write(folder: Path) -> list[str]:
    for name, words in (("a.en", WORDS), ("a.de", WORDS)):
        (folder / name).write_text("\n".join(lines(words, 9)) + "\n", "utf-8")
    return [str(folder / "a.en"), str(folder / "a.de")]


def test_user_settings_are_kept(tmp_path: Path) -> None:
    overrides = ["model.encoder.layers=7", "train.batch_tokens=99", "train.seed=3"]
    chosen = choose_recipe(write(tmp_path), overrides, 2.5, "cpu")
    written: Any = parse_yaml(chosen.yaml, "the text")
    assert written["model"]["encoder"]["layers"] == 7
    assert written["train"]["batch_tokens"] == 99
    assert chosen.recipe.train.seed == 3
    assert chosen.recipe.train.minutes == 2.5
    assert "tokens a batch" not in chosen.reasons


def test_reasons_mention_the_configured_steps(tmp_path: Path) -> None:
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
def test_choices_are_compatible_with_user_settings(settings: list[str], tmp_path: Path) -> None:
    chosen = choose_recipe(write(tmp_path), settings, None, "cpu")
    check_recipe(chosen.recipe)
    written: Any = parse_yaml(chosen.yaml, "the text")
    assert to_dict(load_recipe(written), REGISTRY) == to_dict(chosen.recipe, REGISTRY)


@pytest.mark.parametrize(
    ("setting", "stale", "kept"),
    [
        ("text.source.vocab_size=400", ("text.source", "model.encoder", "train.minutes"), "data.validation_fraction"),
        ("model.decoder.layers=1", ("model.encoder", "train.minutes"), "text.source"),
        ("train.batch_tokens=512", ("train.batch_tokens", "train.minutes", "train.schedule"), "model.encoder"),
        ("train.validation.every=7", ("train.validation",), "train.average"),
        ("model.encoder.layers=6", ("model.encoder",), "train.average"),
    ],
)
def test_reasons_do_not_state_what_the_user_set(
    setting: str, stale: tuple[str, ...], kept: str, tmp_path: Path
) -> None:
    def places(overrides: list[str]) -> set[str]:
        reasons = choose_recipe(write(tmp_path), overrides, 1, "cpu").reasons.splitlines()
        return {line.split()[0] for line in reasons if line.startswith("  ") and line[2] != " "}

    assert {*stale, kept} <= places([])
    assert not places([setting]) & {*stale}
    assert kept in places([setting])


def test_steps_replace_minutes(tmp_path: Path) -> None:
    chosen = choose_recipe(write(tmp_path), ["train.steps=80"], None, "cpu").recipe
    assert (chosen.train.steps, chosen.train.minutes) == (80, None)
    assert [chosen.train.schedule(80)(step) for step in (5, 10)] == [0.5 * 4e-3, 4e-3]


def test_training_files_set_twice_are_rejected(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"data\.train is set, but"):
        choose_recipe(write(tmp_path), ["data.train=[x.tsv]"], None, "cpu")


def test_spaceless_script_is_scored_with_chrf() -> None:
    chinese = SideProfile(1.1, 20.0, 900, 1.1, 1.0, LATIN)
    chosen = load_recipe(
        choices_to_document(choose_text_settings(make_inputs(CorpusProfile(30_000, SENTENCES, chinese))))
    )
    assert chosen.train.validation.best_metric == "chrf"


def test_small_corpus_has_no_held_out_pairs() -> None:
    chosen = load_recipe(
        choices_to_document(choose_text_settings(make_inputs(CorpusProfile(50, SENTENCES, SENTENCES))))
    )
    assert chosen.data.validation_fraction == 0.0
    check_recipe(chosen)


def test_missing_file_is_rejected(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="there is no such file"):
        choose_recipe([str(tmp_path / "none.tsv")], [], 1, "cpu")
