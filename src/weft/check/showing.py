"""Lines as they are shown to a person: short, and with what nobody could see made visible."""

import re

from weft.check.rows import Row
from weft.control.spans import PATTERNS
from weft.data.garbling import SEQUENCE
from weft.data.kinds import CONTROL, ENCODING, GARBLED, LOST, MARK, MARKUP, NUMBERS
from weft.data.looking import BYTE_ORDER_MARK, CONTROLS, REPLACEMENT

WIDTH = 48  # letters of a line that are shown
BEFORE = 12  # of them before what it is about
SIGNS = {
    ENCODING: re.compile("[\ud800-\udfff]"),
    CONTROL: CONTROLS,
    MARK: re.compile(BYTE_ORDER_MARK),
    LOST: re.compile(REPLACEMENT),
    GARBLED: SEQUENCE,
    NUMBERS: re.compile(r"\d"),
    MARKUP: PATTERNS["markup"],
}


def shown(row: Row, kind: int) -> tuple[str, str]:
    """Both sides of a row, from where a problem of this kind is; of a row that has no pair, its lines."""
    if row.pair is not None:
        source, target = row.pair
    else:
        source, target = (*(line.removesuffix("\r") for line in row.lines), "")[:2]
    return excerpt(source, kind), excerpt(target, kind)


def excerpt(line: str, kind: int) -> str:
    sign = SIGNS[kind].search(line) if kind in SIGNS else None
    start = max(0, sign.start() - BEFORE) if sign is not None else 0
    part = line[start : start + WIDTH]
    whole = visible(part)
    told = f"{'...' if start else ''}{whole}{'...' if start + WIDTH < len(line) else ''}"
    if kind == ENCODING and sign is not None and "\udc80" <= sign[0] <= "\udcff":
        return f"{told} (byte 0x{ord(sign[0]) - 0xDC00:02X} at position {_bytes_before(line, sign.start()) + 1})"
    return told


def visible(text: str) -> str:
    """With escapes for bytes that are not UTF-8 and for characters that cannot be printed."""
    return "".join(letter if letter.isprintable() else _escape(letter) for letter in text)


def _escape(letter: str) -> str:
    number = ord(letter)
    if 0xDC80 <= number <= 0xDCFF:
        return f"\\x{number - 0xDC00:02x}"
    if number < 0x100:
        return f"\\x{number:02x}"
    return f"\\u{number:04x}" if number < 0x10000 else f"\\U{number:08x}"


def _bytes_before(line: str, place: int) -> int:
    return len(line[:place].encode("utf-8", "surrogateescape"))
