"""The kinds of problems that pairs of lines may have: a bit each, so that one number holds all that a pair has."""

from collections.abc import Mapping

ENCODING, BROKEN, UNPAIRED, CONTROL, MARK, LOST, GARBLED, EMPTY, IDENTICAL, SCRIPT = (1 << bit for bit in range(10))
LENGTH, RATIO, DUPLICATE, LEAKED_SOURCE, LEAKED_PAIR = (1 << bit for bit in range(10, 15))
LONG, UNEVEN, UNKNOWN, TARGETS, NUMBERS, MARKUP = (1 << bit for bit in range(15, 21))

NAMES: Mapping[str, int] = {
    "encoding": ENCODING,
    "broken": BROKEN,
    "unpaired": UNPAIRED,
    "control": CONTROL,
    "mark": MARK,
    "lost": LOST,
    "garbled": GARBLED,
    "empty": EMPTY,
    "identical": IDENTICAL,
    "script": SCRIPT,
    "length": LENGTH,
    "ratio": RATIO,
    "duplicate": DUPLICATE,
    "leaked-source": LEAKED_SOURCE,
    "leaked-pair": LEAKED_PAIR,
    "long": LONG,
    "uneven": UNEVEN,
    "unknown": UNKNOWN,
    "targets": TARGETS,
    "numbers": NUMBERS,
    "markup": MARKUP,
}


def names_of(bits: int) -> list[str]:
    return [name for name, bit in NAMES.items() if bits & bit]
