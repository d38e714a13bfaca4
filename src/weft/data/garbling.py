"""Text that was UTF-8 and was read as Windows-1252 or Latin-1: "cafÃ©" for "café"."""

import re


def _images() -> dict[str, int]:
    """What each byte from 0x80 looks like in either of the two; the five that Windows-1252 lacks are as in Latin-1."""
    images = {chr(byte): byte for byte in range(0x80, 0x100)}
    for byte in range(0x80, 0xA0):
        images[bytes([byte]).decode("cp1252", "ignore") or chr(byte)] = byte
    return images


BYTES = _images()
ASCII = {chr(byte): byte for byte in range(0x80)}
FOLLOWS = "[" + "".join(re.escape(letter) for letter, byte in BYTES.items() if byte < 0xC0) + "]"
SEQUENCE = re.compile(  # a letter of two, three or four bytes, of the scripts where this is often seen
    f"[ÂÃÄÅÎÏÐÑ×ØÙ]{FOLLOWS}|[àâãäåæçèéêëìíî]{FOLLOWS}{{2}}|ð{FOLLOWS}{{3}}"
)
SURE = re.compile(f"(?<![A-ZÀ-Þ])[ÂÃ]{FOLLOWS}|â€{FOLLOWS}|ï»¿")  # one will do; but AMANHÃ… is a word


def is_garbled(line: str) -> bool:
    """Does the line have letters that are surely of this kind, or several that may be and make UTF-8 as a whole?"""
    if line.isascii():
        return False
    if SURE.search(line):
        return True
    few = SEQUENCE.search(line)
    return few is not None and SEQUENCE.search(line, few.end()) is not None and ungarbled(line) is not None


def ungarbled(line: str) -> str | None:
    """The line as it was; None unless all of its letters are bytes which together are UTF-8, so that no guess is made.

    It is exact: reading the result's bytes in the wrong way again gives the line.
    """
    if line.isascii():
        return None
    try:
        whole = bytes([ASCII[letter] if letter in ASCII else BYTES[letter] for letter in line])
        return whole.decode("utf-8")
    except (KeyError, UnicodeDecodeError):
        return None
