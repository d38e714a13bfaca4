"""The Unicode script of a line, and which scripts are expected on one side of a corpus."""

import re
import unicodedata
from collections import Counter
from collections.abc import Mapping
from functools import lru_cache

MIN_SCRIPT_SHARE = 0.2  # lines of a script, relative to the most frequent one of the side, to be expected there
LATIN = "LATIN"
NON_LATIN = re.compile("[^\x00-\u024f\u1e00-\u1eff\u2000-\u206f]")  # neither Latin nor common punctuation
LATIN_LETTER = re.compile("[A-Za-zÀ-ÖØ-öø-\u024f\u1e00-\u1eff]")
KANA = ("HIRAGANA", "KATAKANA", "KATAKANA-HIRAGANA")
COMMON_SCRIPT_WORDS = frozenset(  # first words of the Unicode names of letters that any script may use
    ["MODIFIER", "FEMININE", "MASCULINE", "MICRO", "MATHEMATICAL", "DOUBLE-STRUCK", "SCRIPT", "BLACK-LETTER"]
)


def line_script(line: str) -> str:
    """Return the script of more than half of the letters, as Unicode names it, or "".

    Kana with Chinese characters is KANA, since Japanese is written so.
    """
    if not NON_LATIN.search(line):
        return LATIN if LATIN_LETTER.search(line) else ""
    counts: Counter[str] = Counter()
    for char, count in Counter(line).items():
        counts[character_script(char)] += count
    counts.pop("", None)
    if not counts:
        return ""
    if counts["KANA"]:
        counts["KANA"] += counts.pop("CJK", 0)
    script, most = counts.most_common(1)[0]
    return script if 2 * most > counts.total() else ""


def expected_scripts(line_counts: Mapping[str, int]) -> frozenset[str]:
    """Return the scripts of a side, given the number of lines in each; Japanese lines may be all Chinese characters."""
    min_count = MIN_SCRIPT_SHARE * max((count for script, count in line_counts.items() if script), default=0)
    expected = {script for script, count in line_counts.items() if script and count and count >= min_count}
    return frozenset(expected | {"CJK"} if "KANA" in expected else expected)


def count_unexpected_scripts(line_counts: Mapping[str, int]) -> int:
    expected = expected_scripts(line_counts)
    return sum(count for script, count in line_counts.items() if script and script not in expected)


@lru_cache(2**14)  # bounded, since a server gets any text
def character_script(char: str) -> str:
    """Return the script of a letter, or "" for other characters and for letters that any script may use."""
    if not char.isalpha():
        return ""
    name = unicodedata.name(char, "").removeprefix("HALFWIDTH ").removeprefix("FULLWIDTH ")
    script = name.partition(" ")[0]
    if script in COMMON_SCRIPT_WORDS:
        return ""
    return "KANA" if script in KANA else script
