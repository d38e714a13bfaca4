"""What can be told of a pair by itself: the same for `weft check` and for the warnings before training."""

import re

from weft.data.garbling import is_garbled, ungarbled
from weft.data.kinds import CONTROL, EMPTY, GARBLED, IDENTICAL, LOST, MARK

BYTE_ORDER_MARK = "\ufeff"
SPACELESS = 20  # letters: no single word in most languages
REPLACEMENT = "\ufffd"  # what programs put where they could not read a letter
CONTROLS = re.compile("[\x00-\x08\x0a-\x1f\x7f-\x9f\u2028\u2029]")  # all but the tab
BREAKS = re.compile("[\x0a-\x0d\x1c-\x1f\x85\u2028\u2029]")  # those of them that stand between words


def look(source: str, target: str) -> int:
    """All that is wrong with this pair, from its lines alone."""
    found = signs(source) | signs(target)
    source, target = source.strip(), target.strip()
    if not source or not target:
        return found | EMPTY
    return found | IDENTICAL if source == target and _is_text(source) else found


def look_at_line(line: str) -> int:
    """The same of a line that has no partner."""
    return signs(line) | (0 if line.strip() else EMPTY)


def _is_text(line: str) -> bool:
    """Words, and not one alone, which may be a name; a long row of letters is words of a script without spaces."""
    return (" " in line or len(line) >= SPACELESS) and any(map(str.isalpha, line))


def signs(line: str) -> int:
    """Letters that no one wrote: what is wrong with them."""
    if line.isascii() and line.isprintable():
        return 0
    found = CONTROL if CONTROLS.search(line) else 0
    if BYTE_ORDER_MARK in line:
        found |= MARK
    if REPLACEMENT in line:
        found |= LOST
    return found | GARBLED if is_garbled(line) else found


def mended(line: str, kinds: int) -> str:
    """The line without those signs, of these kinds, that can be taken away; what else is wrong with it stays."""
    while (better := _mended_once(line, kinds)) != line:
        line = better
    return line


def _mended_once(line: str, kinds: int) -> str:
    found = signs(line) & kinds
    if found & GARBLED and (whole := ungarbled(line)) is not None:
        return whole
    if found & MARK:
        line = line.replace(BYTE_ORDER_MARK, "")
    if found & CONTROL:
        line = CONTROLS.sub("", BREAKS.sub(" ", line))
    return line
