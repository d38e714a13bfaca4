"""Compiled translation catalogs of gettext: .mo files are read into messages."""

import struct
from collections.abc import Iterator

from weft.core.errors import UserError
from weft.documents.po_entries import CatalogMessage

MO_MAGIC = 0x950412DE
CONTEXT_END = "\x04"


def read_mo(content: bytes, name: str) -> Iterator[CatalogMessage]:
    """Yield the translated messages of a .mo file, without its header; raise UserError if it is broken.

    Format: seven 32-bit numbers, of which the third to fifth are the number of strings and the offsets of two tables
    with length and offset of each source string and each translation.
    """
    try:
        order = next(mark for mark in "<>" if struct.unpack_from(f"{mark}I", content)[0] == MO_MAGIC)
        count, sources, translations = struct.unpack_from(f"{order}3I", content, 8)
        for row in range(count):
            source = _string_at(content, order, sources + 8 * row)
            translation = _string_at(content, order, translations + 8 * row)
            if source:
                text, _, plural = source.rpartition(CONTEXT_END)[2].partition("\0")
                yield CatalogMessage(text, plural, tuple(translation.split("\0")))
    except (struct.error, StopIteration, UnicodeDecodeError, IndexError) as error:
        raise UserError(f"{name}: not a .mo file, or a broken one ({str(error) or 'wrong first bytes'})") from None


def _string_at(content: bytes, order: str, row: int) -> str:
    length, offset = struct.unpack_from(f"{order}2I", content, row)
    if offset + length > len(content):
        raise IndexError(f"a string ends at byte {offset + length:,} of {len(content):,}")
    return content[offset : offset + length].decode("utf-8")
