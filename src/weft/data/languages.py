"""Language codes, their names, and pairs of them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from weft.core.arguments import OptionName, flag_name
from weft.core.errors import UserError
from weft.text.sentences import LANGUAGE_CODE

LANGUAGE_NAMES = {  # ISO 639-1, and some codes of ISO 639-2 for languages without one
    "aa": "Afar", "ab": "Abkhazian", "af": "Afrikaans", "ak": "Akan", "am": "Amharic", "an": "Aragonese",
    "ar": "Arabic", "as": "Assamese", "ast": "Asturian", "av": "Avaric", "ay": "Aymara", "az": "Azerbaijani",
    "ba": "Bashkir", "be": "Belarusian", "bg": "Bulgarian", "bi": "Bislama", "bm": "Bambara", "bn": "Bengali",
    "bo": "Tibetan", "br": "Breton", "bs": "Bosnian", "ca": "Catalan", "ce": "Chechen", "ceb": "Cebuano",
    "ch": "Chamorro", "co": "Corsican", "cs": "Czech", "cv": "Chuvash", "cy": "Welsh", "da": "Danish",
    "de": "German", "dsb": "Lower Sorbian", "dv": "Divehi", "dz": "Dzongkha", "ee": "Ewe", "el": "Greek",
    "en": "English", "eo": "Esperanto", "es": "Spanish", "et": "Estonian", "eu": "Basque", "fa": "Persian",
    "ff": "Fulah", "fi": "Finnish", "fil": "Filipino", "fj": "Fijian", "fo": "Faroese", "fr": "French",
    "fur": "Friulian", "fy": "Western Frisian", "ga": "Irish", "gd": "Scottish Gaelic", "gl": "Galician",
    "gn": "Guarani", "gu": "Gujarati", "gv": "Manx", "ha": "Hausa", "haw": "Hawaiian", "he": "Hebrew", "hi": "Hindi",
    "hr": "Croatian", "hsb": "Upper Sorbian", "ht": "Haitian Creole", "hu": "Hungarian", "hy": "Armenian",
    "ia": "Interlingua", "id": "Indonesian", "ig": "Igbo", "is": "Icelandic", "it": "Italian", "iu": "Inuktitut",
    "ja": "Japanese", "jv": "Javanese", "ka": "Georgian", "kab": "Kabyle", "kk": "Kazakh", "kl": "Kalaallisut",
    "km": "Khmer", "kn": "Kannada", "ko": "Korean", "ku": "Kurdish", "kv": "Komi", "kw": "Cornish", "ky": "Kyrgyz",
    "la": "Latin", "lb": "Luxembourgish", "lg": "Ganda", "li": "Limburgish", "ln": "Lingala", "lo": "Lao",
    "lt": "Lithuanian", "lv": "Latvian", "mg": "Malagasy", "mi": "Maori", "mk": "Macedonian", "ml": "Malayalam",
    "mn": "Mongolian", "mr": "Marathi", "ms": "Malay", "mt": "Maltese", "my": "Burmese", "nb": "Norwegian Bokmål",
    "nds": "Low German", "ne": "Nepali", "nl": "Dutch", "nn": "Norwegian Nynorsk", "no": "Norwegian", "nv": "Navajo",
    "ny": "Nyanja", "oc": "Occitan", "om": "Oromo", "or": "Odia", "os": "Ossetian", "pa": "Punjabi", "pl": "Polish",
    "ps": "Pashto", "pt": "Portuguese", "qu": "Quechua", "rm": "Romansh", "rn": "Rundi", "ro": "Romanian",
    "ru": "Russian", "rw": "Kinyarwanda", "sa": "Sanskrit", "sc": "Sardinian", "sd": "Sindhi", "se": "Northern Sami",
    "sg": "Sango", "si": "Sinhala", "sk": "Slovak", "sl": "Slovenian", "sm": "Samoan", "sn": "Shona", "so": "Somali",
    "sq": "Albanian", "sr": "Serbian", "ss": "Swati", "st": "Southern Sotho", "su": "Sundanese", "sv": "Swedish",
    "sw": "Swahili", "ta": "Tamil", "te": "Telugu", "tg": "Tajik", "th": "Thai", "ti": "Tigrinya", "tk": "Turkmen",
    "tl": "Tagalog", "tn": "Tswana", "to": "Tonga", "tr": "Turkish", "ts": "Tsonga", "tt": "Tatar", "ty": "Tahitian",
    "ug": "Uyghur", "uk": "Ukrainian", "ur": "Urdu", "uz": "Uzbek", "ve": "Venda", "vi": "Vietnamese",
    "wa": "Walloon", "wo": "Wolof", "xh": "Xhosa", "yi": "Yiddish", "yo": "Yoruba", "yue": "Cantonese",
    "zh": "Chinese", "zu": "Zulu",
}  # fmt: skip


class LanguagePair(NamedTuple):
    """The codes of two languages; equal ones for a task within a language, such as spelling correction."""

    source: str
    target: str

    def __str__(self) -> str:
        return f"{self.source}:{self.target}"

    def is_like(self, other: LanguagePair) -> bool:
        """Whether the languages are the same but for script and region."""
        return [*map(base_code, self)] == [*map(base_code, other)]

    def describe(self) -> str:
        return f"{language_name(self.source)} to {language_name(self.target)}"


def language_name(code: str) -> str:
    """Return the English name of a language, or the code itself."""
    return LANGUAGE_NAMES.get(base_code(code), code)


def base_code(code: str) -> str:
    """Return a code without script and region: pt of pt-BR."""
    return re.split("[-_]", code)[0].lower()


def is_language_code(text: str) -> bool:
    """Whether a text is a code of a known language, in lower case but for script and region: pt-BR, zh-Hant."""
    base = re.split("[-_]", text)[0]
    return LANGUAGE_CODE.fullmatch(text) is not None and base in LANGUAGE_NAMES


def parse_language_pair(text: str, option: OptionName = flag_name) -> LanguagePair:
    """Parse the value of --languages: two codes separated by a colon, as in en:de. option: how messages name it."""
    codes = text.split(":")
    if len(codes) != 2 or not all(map(LANGUAGE_CODE.fullmatch, codes)):
        raise UserError(
            f"{option('languages')} {text}: expected two language codes separated by a colon, such as en:de"
        )
    return LanguagePair(*codes)


def language_setting(languages: str, settings: Sequence[str], option: OptionName = flag_name) -> str:
    """Return the setting for --languages; settings: those that are given as well."""
    pair = parse_language_pair(languages, option)
    if any(setting.startswith("data.languages=") for setting in settings):
        name = option("languages")
        raise UserError(f"{name} {languages}: data.languages is set as well: omit one of the two")
    return f'data.languages=["{pair.source}", "{pair.target}"]'  # in quotes, since YAML reads no as false


def language_pair_problem(codes: Sequence[str]) -> str | None:
    """Return what is wrong with the setting data.languages; None if nothing is."""
    wrong = [code for code in codes if LANGUAGE_CODE.fullmatch(code) is None]
    if wrong:
        return f"{wrong[0]!r} is not a language code: use codes such as en, pt-BR or zh-Hant"
    if len(codes) not in (0, 2):
        return f"needs two codes, source and target, as in [en, de], or none; got {len(codes)}"
    return None


def language_pair(codes: Sequence[str]) -> LanguagePair | None:
    """Return the languages of the setting data.languages; None if they are unknown or do not apply."""
    return LanguagePair(*codes) if codes else None
