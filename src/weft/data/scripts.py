"""The script that a line is written in, and which scripts are at home on a side of a corpus."""

import re
import unicodedata
from collections import Counter
from collections.abc import Mapping
from functools import lru_cache

AT_HOME = 0.2  # so many times as many lines as the most frequent script of the side has, a script needs
LATIN = "LATIN"
OTHERS = re.compile("[^\x00-\u024f\u1e00-\u1eff\u2000-\u206f]")  # what is neither Latin nor a sign that all use
LETTER = re.compile("[A-Za-zÀ-ÖØ-öø-\u024f\u1e00-\u1eff]")
WIDTHS = ("HALFWIDTH ", "FULLWIDTH ")
KANA = ("HIRAGANA", "KATAKANA", "KATAKANA-HIRAGANA")
SCRIPTLESS = frozenset(  # first words of Unicode's names of letters that any script may use
    ["MODIFIER", "FEMININE", "MASCULINE", "MICRO", "MATHEMATICAL", "DOUBLE-STRUCK", "SCRIPT", "BLACK-LETTER"]
)


def script_of(line: str) -> str:
    """The script of more than half of the letters, in Unicode's words; "" if there is none.

    Kana with Chinese letters among them are KANA, since that is how Japanese is written.
    """
    if not OTHERS.search(line):
        return LATIN if LETTER.search(line) else ""
    counts: Counter[str] = Counter()
    for letter, count in Counter(line).items():
        counts[script_of_letter(letter)] += count
    counts.pop("", None)
    if not counts:
        return ""
    if counts["KANA"]:
        counts["KANA"] += counts.pop("CJK", 0)
    script, most = counts.most_common(1)[0]
    return script if 2 * most > counts.total() else ""


def at_home(lines: Mapping[str, int]) -> frozenset[str]:
    """The scripts of a side, from how many lines are in each; Chinese letters may stand alone in Japanese."""
    least = AT_HOME * max((count for script, count in lines.items() if script), default=0)
    home = {script for script, count in lines.items() if script and count and count >= least}
    return frozenset(home | {"CJK"} if "KANA" in home else home)


def count_strangers(lines: Mapping[str, int]) -> int:
    """How many lines are in a script that is not at home."""
    home = at_home(lines)
    return sum(count for script, count in lines.items() if script and script not in home)


@lru_cache(2**14)  # bounded, since a server is asked for anything
def script_of_letter(letter: str) -> str:
    """In Unicode's words, however wide it is written; "" of signs, and of letters that any script may use."""
    if not letter.isalpha():
        return ""
    name = unicodedata.name(letter, "")
    for width in WIDTHS:
        name = name.removeprefix(width)
    script = name.partition(" ")[0]
    if script in SCRIPTLESS:
        return ""
    return "KANA" if script in KANA else script
