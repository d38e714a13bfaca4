"""Language codes: names, the language pair of a model (from the suffixes of its training files), and detection of
a text's language by its script.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from itertools import islice
from pathlib import PurePath
from typing import Any, NamedTuple

from weft.core.errors import UserError
from weft.data.text_files import uncompressed_name
from weft.data.unicode_scripts import character_script
from weft.text.sentences import LANGUAGE_CODE

LANGUAGE_NAMES = {
    "ar": "Arabic", "bg": "Bulgarian", "bn": "Bengali", "ca": "Catalan", "cs": "Czech", "da": "Danish",
    "de": "German", "el": "Greek", "en": "English", "eo": "Esperanto", "es": "Spanish", "et": "Estonian",
    "eu": "Basque", "fa": "Persian", "fi": "Finnish", "fr": "French", "ga": "Irish", "gl": "Galician",
    "he": "Hebrew", "hi": "Hindi", "hr": "Croatian", "hu": "Hungarian", "hy": "Armenian", "id": "Indonesian",
    "is": "Icelandic", "it": "Italian", "ja": "Japanese", "ka": "Georgian", "ko": "Korean", "lt": "Lithuanian",
    "lv": "Latvian", "mk": "Macedonian", "ms": "Malay", "nb": "Norwegian", "nl": "Dutch", "no": "Norwegian",
    "pl": "Polish", "pt": "Portuguese", "ro": "Romanian", "ru": "Russian", "sk": "Slovak", "sl": "Slovenian",
    "sq": "Albanian", "sr": "Serbian", "sv": "Swedish", "th": "Thai", "tl": "Tagalog", "tr": "Turkish",
    "uk": "Ukrainian", "ur": "Urdu", "vi": "Vietnamese", "zh": "Chinese",
}  # fmt: skip
MAX_LETTERS = 2_000  # letters that are examined
LANGUAGE_SCRIPTS = {  # of all others: Latin
    "am": {"ETHIOPIC"}, "ar": {"ARABIC"}, "be": {"CYRILLIC"}, "bg": {"CYRILLIC"}, "bn": {"BENGALI"},
    "el": {"GREEK"}, "fa": {"ARABIC"}, "gu": {"GUJARATI"}, "he": {"HEBREW"}, "hi": {"DEVANAGARI"},
    "hy": {"ARMENIAN"}, "ja": {"KANA", "CJK"}, "ka": {"GEORGIAN"}, "kk": {"CYRILLIC"},
    "km": {"KHMER"}, "kn": {"KANNADA"}, "ko": {"HANGUL", "CJK"}, "ky": {"CYRILLIC"}, "lo": {"LAO"},
    "mk": {"CYRILLIC"}, "ml": {"MALAYALAM"}, "mn": {"CYRILLIC"}, "mr": {"DEVANAGARI"}, "my": {"MYANMAR"},
    "ne": {"DEVANAGARI"}, "or": {"ORIYA"}, "pa": {"GURMUKHI"}, "ps": {"ARABIC"}, "ru": {"CYRILLIC"},
    "si": {"SINHALA"}, "sr": {"CYRILLIC", "LATIN"}, "ta": {"TAMIL"}, "te": {"TELUGU"}, "tg": {"CYRILLIC"},
    "th": {"THAI"}, "ti": {"ETHIOPIC"}, "uk": {"CYRILLIC"}, "ur": {"ARABIC"}, "yi": {"HEBREW"}, "zh": {"CJK"},
}  # fmt: skip


class LanguagePair(NamedTuple):
    """The codes of two languages."""

    source: str
    target: str


def language_name(code: str) -> str:
    """Return the English name of a language, or the code itself."""
    return LANGUAGE_NAMES.get(_base_code(code), code)


def parse_language_pair(text: str) -> LanguagePair:
    """Parse two codes separated by a colon: en:de."""
    codes = text.split(":")
    if not _are_language_codes(codes):
        raise UserError(f"--languages {text}: expected two language codes separated by a colon, such as en:de")
    return LanguagePair(*codes)


def infer_language_pair(config: dict[str, Any], model: str) -> LanguagePair:
    """Return the languages that the suffixes of the training files name, as in train.en and train.de."""
    files: Sequence[str] = config["data"]["train"] or ()
    suffixes = [PurePath(uncompressed_name(file)).suffix.removeprefix(".") for file in files]
    if not _are_language_codes(suffixes):
        raise UserError(
            f"{model}: the names of its training files ({', '.join(files) or 'none'}) do not end in language codes. "
            "Add --languages, as in --languages en:de."
        )
    return LanguagePair(*suffixes)


def _are_language_codes(codes: Sequence[str]) -> bool:
    return len(codes) == 2 and all(map(LANGUAGE_CODE.fullmatch, codes)) and codes[0] != codes[1]


class DetectedLanguage(NamedTuple):
    """confidence: in percent, as in LibreTranslate: the share of letters in the language's scripts, divided by the
    number of candidate languages with the same scripts.
    """

    confidence: float
    language: str


def detect_language(text: str, codes: Sequence[str]) -> list[DetectedLanguage]:
    """Return the languages whose scripts occur in the text, the most likely first.

    Only scripts are examined: languages of the same script are not distinguished.
    """
    letters = islice(filter(None, map(character_script, text[: 4 * MAX_LETTERS])), MAX_LETTERS)
    counts = Counter(letters)
    scripts = {code: frozenset(LANGUAGE_SCRIPTS.get(_base_code(code), {"LATIN"})) for code in codes}
    in_script = {code: sum(counts[script] for script in scripts[code]) for code in codes}
    found = {code: count for code, count in in_script.items() if count}
    rivals = Counter(scripts[code] for code in found)
    detected = [
        DetectedLanguage(round(100 * count / counts.total() / rivals[scripts[code]], 1), code)
        for code, count in found.items()
    ]
    return sorted(detected, key=lambda found: -found.confidence)


def _base_code(code: str) -> str:
    return re.split("[-_]", code)[0].lower()
