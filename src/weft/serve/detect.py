"""The language of a text, as far as its script tells it. Which of two languages of one script it is, stays open."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from itertools import islice
from typing import NamedTuple

from weft.data.scripts import script_of_letter

MOST = 2_000  # letters that are looked at
SCRIPTS = {
    "am": {"ETHIOPIC"}, "ar": {"ARABIC"}, "be": {"CYRILLIC"}, "bg": {"CYRILLIC"}, "bn": {"BENGALI"},
    "el": {"GREEK"}, "fa": {"ARABIC"}, "gu": {"GUJARATI"}, "he": {"HEBREW"}, "hi": {"DEVANAGARI"},
    "hy": {"ARMENIAN"}, "ja": {"KANA", "CJK"}, "ka": {"GEORGIAN"}, "kk": {"CYRILLIC"},
    "km": {"KHMER"}, "kn": {"KANNADA"}, "ko": {"HANGUL", "CJK"}, "ky": {"CYRILLIC"}, "lo": {"LAO"},
    "mk": {"CYRILLIC"}, "ml": {"MALAYALAM"}, "mn": {"CYRILLIC"}, "mr": {"DEVANAGARI"}, "my": {"MYANMAR"},
    "ne": {"DEVANAGARI"}, "or": {"ORIYA"}, "pa": {"GURMUKHI"}, "ps": {"ARABIC"}, "ru": {"CYRILLIC"},
    "si": {"SINHALA"}, "sr": {"CYRILLIC", "LATIN"}, "ta": {"TAMIL"}, "te": {"TELUGU"}, "tg": {"CYRILLIC"},
    "th": {"THAI"}, "ti": {"ETHIOPIC"}, "uk": {"CYRILLIC"}, "ur": {"ARABIC"}, "yi": {"HEBREW"}, "zh": {"CJK"},
}  # fmt: skip
LATIN = {"LATIN"}  # all others


class Detected(NamedTuple):
    """confidence: in per cent, as LibreTranslate has it: the share of letters that are the language's, divided among
    the languages of the same letters.
    """

    confidence: float
    language: str


def detect(text: str, codes: Sequence[str]) -> list[Detected]:
    """Which of these languages a text may be in, the likeliest first; none, where it has letters of none of them."""
    counts = scripts_in(text)
    letters = sum(counts.values())
    shares = {code: sum(counts[script] for script in scripts_of(code)) for code in codes}
    found = {code: share for code, share in shares.items() if share}
    rivals = Counter(frozenset(scripts_of(code)) for code in found)
    detected = [
        Detected(round(100 * share / letters / rivals[frozenset(scripts_of(code))], 1), code)
        for code, share in found.items()
    ]
    return sorted(detected, key=lambda one: -one.confidence)


def scripts_in(text: str) -> Counter[str]:
    """How many letters of each script."""
    scripts = filter(None, map(script_of_letter, text[: 4 * MOST]))
    return Counter(islice(scripts, MOST))


def scripts_of(code: str) -> set[str]:
    return SCRIPTS.get(re.split("[-_]", code)[0].lower(), LATIN)
