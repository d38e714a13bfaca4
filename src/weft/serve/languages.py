"""Which language a model reads and which it writes, by their codes."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import PurePath
from typing import Any, NamedTuple

from weft.core.errors import UserError
from weft.data.unpacking import plain_name

CODE = re.compile(r"[A-Za-z]{2,3}([-_][A-Za-z0-9]{2,8})*")
NAMES = {
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


class Pair(NamedTuple):
    """The codes of two languages."""

    source: str
    target: str


def name_of(code: str) -> str:
    """The English name of a language; the code itself, if we know none."""
    return NAMES.get(re.split("[-_]", code)[0].lower(), code)


def read_pair(text: str) -> Pair:
    """Of two codes with a colon between them: en:de."""
    codes = text.split(":")
    if len(codes) != 2 or not all(map(CODE.fullmatch, codes)) or codes[0] == codes[1]:
        raise UserError(f"--languages {text}: should be two codes with a colon between them, as en:de")
    return Pair(*codes)


def pair_of(config: dict[str, Any], model: str) -> Pair:
    """By what the files that the model was trained on end with, as train.en and train.de."""
    files: Sequence[str] = config["data"]["train"] or ()
    endings = [PurePath(plain_name(file)).suffix.removeprefix(".") for file in files]
    if len(endings) != 2 or not all(map(CODE.fullmatch, endings)) or endings[0] == endings[1]:
        raise UserError(
            f"{model}: its languages are not to be told from the files that it was trained on "
            f"({', '.join(files) or 'none are named'}): add --languages, as --languages en:de"
        )
    return Pair(*endings)
