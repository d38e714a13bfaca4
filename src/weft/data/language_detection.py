"""Detection of languages: of a text, among some, by its scripts and then by its letter sequences (py3langid, a naive
Bayes classifier of byte n-grams: Lui & Baldwin 2012); and of one side of a corpus, among all languages.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from itertools import islice
from typing import TYPE_CHECKING, NamedTuple

from weft.data.languages import LANGUAGE_NAMES, base_code
from weft.data.unicode_scripts import character_script

if TYPE_CHECKING:
    from py3langid.langid import LanguageIdentifier

MAX_LETTERS = 2_000  # letters that are examined
MIN_PROBABILITY = 1e-6  # of a candidate, so that each can have the letters of its own script
LANGUAGE_SCRIPTS = {  # of all others: Latin
    "ab": {"CYRILLIC"}, "am": {"ETHIOPIC"}, "ar": {"ARABIC"}, "as": {"BENGALI"}, "ba": {"CYRILLIC"},
    "be": {"CYRILLIC"}, "bg": {"CYRILLIC"}, "bn": {"BENGALI"}, "bo": {"TIBETAN"}, "ce": {"CYRILLIC"},
    "cv": {"CYRILLIC"}, "dv": {"THAANA"}, "dz": {"TIBETAN"}, "el": {"GREEK"}, "fa": {"ARABIC"}, "gu": {"GUJARATI"},
    "he": {"HEBREW"}, "hi": {"DEVANAGARI"}, "hy": {"ARMENIAN"}, "ja": {"KANA", "CJK"}, "ka": {"GEORGIAN"},
    "kk": {"CYRILLIC"}, "km": {"KHMER"}, "kn": {"KANNADA"}, "ko": {"HANGUL", "CJK"}, "kv": {"CYRILLIC"},
    "ky": {"CYRILLIC"}, "lo": {"LAO"}, "mk": {"CYRILLIC"}, "ml": {"MALAYALAM"}, "mn": {"CYRILLIC"},
    "mr": {"DEVANAGARI"}, "my": {"MYANMAR"}, "ne": {"DEVANAGARI"}, "or": {"ORIYA"}, "os": {"CYRILLIC"},
    "pa": {"GURMUKHI"}, "ps": {"ARABIC"}, "ru": {"CYRILLIC"}, "sa": {"DEVANAGARI"}, "sd": {"ARABIC"},
    "si": {"SINHALA"}, "sr": {"CYRILLIC", "LATIN"}, "ta": {"TAMIL"}, "te": {"TELUGU"}, "tg": {"CYRILLIC"},
    "th": {"THAI"}, "ti": {"ETHIOPIC"}, "tt": {"CYRILLIC"}, "ug": {"ARABIC"}, "uk": {"CYRILLIC"},
    "ur": {"ARABIC"}, "yi": {"HEBREW"}, "yue": {"CJK"}, "zh": {"CJK"},
}  # fmt: skip
LABELS = {"nb": "no", "fil": "tl"}  # py3langid's, where they differ
NOT_LANGUAGE = "zxx"  # its label of program text, numbers and the like

SHORT_TEXT_WORDS = 3
PUNCTUATION = ".,;:!?¡¿…\"'«»“”()"
WORD_ODDS = 30.0  # by which one of the words below makes its language more probable in a short text
PHRASE_WORDS = {  # of greetings and answers, which are too short for n-grams
    "bg": "здравей здравейте благодаря да не моля", "ca": "hola gràcies sí adéu",
    "cs": "ahoj děkuji díky prosím ano ne",
    "da": "hej tak ja nej farvel", "de": "hallo danke bitte ja nein tschüss tschüs guten entschuldigung",
    "en": "hello hi hey thanks thank please sorry yes no ok okay bye goodbye good welcome",
    "eo": "saluton dankon jes ne bonvolu", "es": "hola gracias sí no adiós buenos buenas bueno perdón",
    "fi": "hei moi kiitos kyllä ei anteeksi", "fr": "bonjour salut merci oui non bonsoir pardon",
    "hu": "szia köszönöm igen nem kérem", "it": "ciao grazie prego sì no buongiorno buonasera scusa arrivederci",
    "nb": "hei takk ja nei", "nl": "hallo dank bedankt ja nee hoi doei alsjeblieft", "no": "hei takk ja nei",
    "pl": "cześć dziękuję dzięki proszę tak nie", "pt": "olá oi obrigado obrigada sim não tchau desculpe",
    "ro": "salut bună mulțumesc da nu", "ru": "привет здравствуйте спасибо да нет извините пожалуйста",
    "sk": "ahoj ďakujem prosím áno nie", "sv": "hej tack ja nej hejdå", "tr": "merhaba selam teşekkürler evet hayır",
    "uk": "привіт дякую так ні вибачте добрий",
}  # fmt: skip

CHUNK_LINES = 10  # lines of a corpus that are classified together: single ones are often too short
MAX_CHUNKS = 100
MIN_CHUNKS = 3
MIN_AGREEMENT = 0.9  # share of the chunks that are in the detected language


class DetectedLanguage(NamedTuple):
    """confidence: in percent: the share of the letters that are in scripts of the language, of each script the
    probability of the language among the candidates that use it.
    """

    confidence: float
    language: str


class LanguageDetector:
    """Finds out in which of some languages a text is. py3langid is loaded when scripts cannot distinguish them."""

    def __init__(self, codes: Iterable[str]):
        self._scripts = {code: LANGUAGE_SCRIPTS.get(base_code(code), {"LATIN"}) for code in codes}

    def __call__(self, text: str) -> list[DetectedLanguage]:
        """Return the languages whose scripts occur in the text, the most likely first."""
        counts = _count_scripts(text)
        users = {script: [code for code, used in self._scripts.items() if script in used] for script in counts}
        is_ambiguous = any(len(codes) > 1 for codes in users.values())
        probabilities = self._probabilities(text) if is_ambiguous else dict.fromkeys(self._scripts, 1.0)
        letters = Counter[str]()
        for script, codes in users.items():
            total = sum(probabilities[code] for code in codes)
            letters.update({code: counts[script] * probabilities[code] / total for code in codes})
        found = [DetectedLanguage(round(100 * part / counts.total(), 1), code) for code, part in letters.items()]
        return sorted(found, key=lambda language: -language.confidence)

    def load(self) -> None:
        """Load py3langid if scripts cannot distinguish all languages; else the first text that needs it does."""
        if any(self._scripts[one] & self._scripts[two] for one in self._scripts for two in self._scripts if one < two):
            _ = self._identifier

    @cached_property
    def _labels(self) -> Mapping[str, str]:
        return {code: LABELS.get(base_code(code), base_code(code)) for code in self._scripts}

    @cached_property
    def _identifier(self) -> LanguageIdentifier:
        return load_identifier(self._labels.values())

    def _probabilities(self, text: str) -> dict[str, float]:
        """Return how probable each language is; those that py3langid lacks are as probable as the mean."""
        ranks = dict(self._identifier.rank(_normalize(text)))
        mean = 1 / max(1, len(ranks))
        shared = Counter(self._labels.values())
        return {
            code: max(MIN_PROBABILITY, ranks.get(label, mean) / shared[label]) * _phrase_odds(text, base_code(code))
            for code, label in self._labels.items()
        }


def load_identifier(labels: Iterable[str]) -> LanguageIdentifier:
    """Load py3langid, restricted to those of the labels that it has; all of its languages if there are none."""
    from py3langid.langid import MODEL_FILE
    from py3langid.langid import LanguageIdentifier as Identifier

    identifier = Identifier.from_model_file(MODEL_FILE, norm_probs=True)
    identifier.set_languages(set(labels) & set(identifier.labels) or None)
    return identifier


def detect_corpus_languages(sides: Sequence[Sequence[str]]) -> list[str | None]:
    """Return the language of the lines of each side; None if they do not agree, or are too few."""
    identifier = load_identifier([*LANGUAGE_NAMES, NOT_LANGUAGE])
    return [_common_language(identifier, lines) for lines in sides]


def _common_language(identifier: LanguageIdentifier, lines: Sequence[str]) -> str | None:
    starts = islice(range(0, len(lines) - CHUNK_LINES + 1, CHUNK_LINES), MAX_CHUNKS)
    chunks = [_normalize(" ".join(lines[start : start + CHUNK_LINES])) for start in starts]
    if len(chunks) < MIN_CHUNKS:
        return None
    labels = Counter(str(identifier.classify(chunk)[0]) for chunk in chunks)
    label, count = labels.most_common(1)[0]
    return label if count >= MIN_AGREEMENT * len(chunks) and label != NOT_LANGUAGE else None


def _phrase_odds(text: str, language: str) -> float:
    """Return how much more probable a language is if a short text has one of its common words."""
    words = text.lower().split(maxsplit=SHORT_TEXT_WORDS)
    if len(words) > SHORT_TEXT_WORDS:
        return 1.0
    known = PHRASE_WORDS.get(language, "").split()
    return WORD_ODDS if any(word.strip(PUNCTUATION) in known for word in words) else 1.0


def _normalize(text: str) -> str:
    """Return a text with words between spaces and in lower case, which makes short ones easier to classify."""
    return f" {' '.join(text[: 4 * MAX_LETTERS].lower().split())} "


def _count_scripts(text: str) -> Counter[str]:
    """Count the letters of each script; Chinese characters in a text with kana are Japanese."""
    counts = Counter(islice(filter(None, map(character_script, text[: 4 * MAX_LETTERS])), MAX_LETTERS))
    if counts["KANA"]:
        counts["KANA"] += counts.pop("CJK", 0)
    return +counts
