"""Sentences to try a model with in the playground: from its validation data, and in its source language."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from weft.checkpoints.file_formats import read_json_object
from weft.checkpoints.model_folder import METRICS_FILE
from weft.core.errors import UserError

MAX_EXAMPLES, MAX_LENGTH = 5, 120
SENTENCES = {
    "ar": "أين أقرب محطة قطار؟",
    "cs": "Kde je nejbližší nádraží?",
    "da": "Hvor er den nærmeste station?",
    "de": "Wo ist der nächste Bahnhof?",
    "el": "Πού είναι ο πλησιέστερος σταθμός;",
    "en": "Where is the nearest train station?",
    "eo": "Kie estas la plej proksima stacidomo?",
    "es": "¿Dónde está la estación más cercana?",
    "fi": "Missä on lähin rautatieasema?",
    "fr": "Où est la gare la plus proche ?",
    "hu": "Hol van a legközelebbi vasútállomás?",
    "id": "Di mana stasiun kereta terdekat?",
    "it": "Dov'è la stazione più vicina?",
    "ja": "一番近い駅はどこですか。",
    "ko": "가장 가까운 역이 어디예요?",
    "nl": "Waar is het dichtstbijzijnde station?",
    "pl": "Gdzie jest najbliższy dworzec?",
    "pt": "Onde fica a estação mais próxima?",
    "ro": "Unde este cea mai apropiată gară?",
    "ru": "Где ближайший вокзал?",
    "sv": "Var är närmaste tågstation?",
    "tr": "En yakın tren istasyonu nerede?",
    "uk": "Де найближчий вокзал?",
    "zh": "最近的火车站在哪里？",
}


def validation_sentences(model: Path) -> tuple[str, ...]:
    """Return the longest of the short sentences that the last validation of a model folder recorded, if any."""
    try:
        metrics = read_json_object(model / METRICS_FILE)
    except UserError:  # exported and imported models need not have any
        return ()
    sentences = sorted(set(_recorded_sources(metrics)), key=lambda sentence: (-len(sentence), sentence))
    return tuple(sentences[:MAX_EXAMPLES])


def _recorded_sources(metrics: dict[str, object]) -> Iterator[str]:
    match metrics:
        case {"validation": {"examples": [*examples]}}:
            for example in examples:
                match example:
                    case {"source": str() as source} if source.strip() and len(source) <= MAX_LENGTH:
                        yield source.strip()


def example_sentences(language: str) -> tuple[str, ...]:
    """Return a sentence in a language, such as "en" or "en-GB"; nothing for languages without one."""
    sentence = SENTENCES.get(language.replace("_", "-").partition("-")[0].lower())
    return () if sentence is None else (sentence,)
