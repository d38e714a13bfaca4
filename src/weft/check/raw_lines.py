"""The lines of a file whatever their bytes are: what cannot be read is kept, and told."""

import codecs
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

from weft.data.kinds import ENCODING, MARK
from weft.data.lines import BYTE_ORDER_MARK, file_blocks, whole_lines

UTF_16 = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)


class RawLine(NamedTuple):
    """A line without "\\n", but with a "\\r" before it, and with a byte order mark at the start of the file.

    Bytes that are not UTF-8 are lone surrogates (PEP 383).

    found: what is wrong with its bytes.
    """

    text: str
    found: int


def raw_lines(path: Path) -> Iterator[RawLine]:
    """All lines of a file; UTF-16 that begins with a mark is read, and told."""
    blocks = file_blocks(path)
    first = next(blocks, b"")
    if _begins_utf_16(first):
        whole, found = _from_utf_16(_with(first, blocks)), ENCODING
    else:
        whole, found = _with(first, blocks), 0
    begun = MARK if first.startswith(BYTE_ORDER_MARK) else 0
    for part in whole_lines(whole, str(path)):
        for text, wrong in _decoded(part):
            yield RawLine(text, wrong | found | begun)
            begun = 0


def is_utf_16(path: Path) -> bool:
    """Does the file begin with a mark of that encoding, and with what is half of an ASCII letter there?"""
    return _begins_utf_16(next(file_blocks(path), b""))


def _begins_utf_16(block: bytes) -> bool:
    return block.startswith(UTF_16) and b"\0" in block


def _with(first: bytes, rest: Iterator[bytes]) -> Iterator[bytes]:
    yield first
    yield from rest


def _from_utf_16(blocks: Iterable[bytes]) -> Iterator[bytes]:
    decoder = codecs.getincrementaldecoder("utf-16")(errors="replace")
    for block in blocks:
        yield decoder.decode(block).encode()
    yield decoder.decode(b"", final=True).encode()


def _decoded(part: bytes) -> Iterator[tuple[str, int]]:
    """The lines of a part; whether one is not UTF-8 is asked of each only if it holds for the part."""
    try:
        yield from ((line, 0) for line in part.decode("utf-8").removesuffix("\n").split("\n"))
    except UnicodeDecodeError:
        for line in part.removesuffix(b"\n").split(b"\n"):
            text = line.decode("utf-8", "surrogateescape")
            yield text, 0 if is_readable(text) else ENCODING


def is_readable(text: str) -> bool:
    """Is there no byte in it that is not UTF-8, and no half of a surrogate pair?"""
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True
