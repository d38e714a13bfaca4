"""Problems of a sentence pair that its two lines alone show: control characters, byte order marks, mojibake, empty
or identical sides. Used by `weft check` and by the warnings before training.
"""

import re

from weft.data.checks.problem_kinds import (
    BYTE_ORDER_MARK,
    CONTROL_CHARACTERS,
    EMPTY_SIDE,
    IDENTICAL_SIDES,
    MOJIBAKE,
    REPLACEMENT_CHARACTERS,
)

BOM_CHARACTER = "\ufeff"
REPLACEMENT_CHARACTER = "\ufffd"
CONTROL_PATTERN = re.compile("[\x00-\x08\x0a-\x1f\x7f-\x9f\u2028\u2029]")  # all but the tab
BREAK_PATTERN = re.compile("[\x0a-\x0d\x1c-\x1f\x85\u2028\u2029]")  # those of them that separate words
MOJIBAKE_PATTERN = re.compile("[\u00c2-\u00f4][^\x00-\x7f]")  # a UTF-8 lead byte as Latin-1, and a continuation byte
MIN_UNSPACED_LENGTH = 20  # characters: longer than a word in most languages


def find_pair_problems(source: str, target: str) -> int:
    """Return the bits of the problems of a pair."""
    found = find_character_problems(source) | find_character_problems(target)
    source, target = source.strip(), target.strip()
    if not source or not target:
        return found | EMPTY_SIDE
    return found | IDENTICAL_SIDES if source == target and _is_running_text(source) else found


def find_line_problems(line: str) -> int:
    """Return the bits of the problems of a monolingual line."""
    return find_character_problems(line) | (0 if line.strip() else EMPTY_SIDE)


def _is_running_text(line: str) -> bool:
    """Whether a line is more than a single word; scripts without spaces are recognized by length."""
    return (" " in line or len(line) >= MIN_UNSPACED_LENGTH) and any(map(str.isalpha, line))


def find_character_problems(line: str) -> int:
    if line.isascii() and line.isprintable():
        return 0
    found = CONTROL_CHARACTERS if CONTROL_PATTERN.search(line) else 0
    if BOM_CHARACTER in line:
        found |= BYTE_ORDER_MARK
    if REPLACEMENT_CHARACTER in line:
        found |= REPLACEMENT_CHARACTERS
    return found | MOJIBAKE if is_mojibake(line) else found


def is_mojibake(line: str) -> bool:
    """Whether UTF-8 was decoded as Windows-1252 or Latin-1.

    ftfy decides; the pattern, which every such text matches, is fifteen times as fast and excludes most other text.
    """
    if MOJIBAKE_PATTERN.search(line) is None:
        return False
    from ftfy.badness import is_bad

    return is_bad(line)


def repair_mojibake(line: str) -> str:
    """Decode the line as it was meant; return it unchanged unless all of its bytes together are UTF-8."""
    from ftfy import TextFixerConfig, fix_encoding

    exact = TextFixerConfig(
        restore_byte_a0=False,
        replace_lossy_sequences=False,
        decode_inconsistent_utf8=False,
        fix_c1_controls=False,
        explain=False,
    )
    return fix_encoding(line, exact)


def repair_line(line: str, kinds: int) -> str:
    """Repair the problems of these kinds as far as possible."""
    while (repaired := _repair_once(line, kinds)) != line:
        line = repaired
    return line


def _repair_once(line: str, kinds: int) -> str:
    found = find_character_problems(line) & kinds
    if found & MOJIBAKE and (repaired := repair_mojibake(line)) != line:
        return repaired
    if found & BYTE_ORDER_MARK:
        line = line.replace(BOM_CHARACTER, "")
    if found & CONTROL_CHARACTERS:
        line = CONTROL_PATTERN.sub("", BREAK_PATTERN.sub(" ", line))
    return line
