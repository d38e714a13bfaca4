"""Choose the setting data.languages of a new run: from the names of the training files, else from the text."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import islice
from typing import NamedTuple

from weft.config.recipe import Recipe
from weft.core.errors import UserError
from weft.data.language_names import languages_of_names
from weft.data.languages import LanguagePair, base_code, language_name
from weft.text.text_config import source_modality
from weft.training.corpus_profile import PROFILE_SAMPLE, CorpusProfile, profile_corpus

PROFILE_SEED = 1


class LanguageChoice(NamedTuple):
    """The languages of a corpus, and how they were found; None if they are unknown."""

    languages: LanguagePair | None
    reason: str


def choose_languages(named: LanguagePair | None, profile: CorpusProfile) -> LanguageChoice | None:
    """Choose the languages; None if the text has none, such as words and their pronunciation.

    named: those of the file names, which win, since a short sample may be misleading and a name has been written.
    """
    if named is not None:
        reason = f"{named.describe()}: by the names of the files or their folder"
        return LanguageChoice(named, reason + "".join(_contradictions(named, profile.languages)))
    if not profile.has_sentences:
        return None
    source, target = profile.languages
    if source is None or target is None:
        missing = " and ".join(side for side, code in (("source", source), ("target", target)) if code is None)
        reason = f"unknown: no file name shows them, and the {missing} is in no language that could be detected; "
        return LanguageChoice(None, reason + "--languages en:de sets them")
    detected = LanguagePair(source, target)
    return LanguageChoice(detected, f"{detected.describe()}: detected in the text, since no file name shows them")


def _contradictions(named: LanguagePair, detected: Sequence[str | None]) -> list[str]:
    return [
        f". Warning: nearly all {side} lines are {language_name(code)}; if the names are wrong, use --languages"
        for side, name, code in zip(("source", "target"), named, detected, strict=True)
        if code is not None and code != base_code(name)
    ]


def add_languages(recipe: Recipe, report: Callable[[str], None]) -> Recipe:
    """Return a recipe with languages, and report the reason; as it is if it names them, or if there are none."""
    data = recipe.data
    if data.languages or data.monolingual or not (data.train or data.mix):
        return recipe
    try:
        if source_modality(recipe.text) == "image":
            return recipe
        pairs = data.splits()["train"].pairs()
        profile = profile_corpus(islice(pairs, PROFILE_SAMPLE), PROFILE_SEED)
    except UserError:  # reported with all other problems before training
        return recipe
    choice = choose_languages(languages_of_names(data.files()["train"], data.fields), profile)
    if choice is None:
        return recipe
    report(f"data.languages: {choice.reason}")
    return replace(recipe, data=replace(data, languages=tuple(choice.languages or ())))
