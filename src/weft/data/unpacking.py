"""Packed files, unpacked a block at a time: .gz, .bz2 and .xz, each of one member or of several in a row."""

import bz2
import lzma
import zlib
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from io import FileIO
from pathlib import Path
from typing import Protocol

BLOCK = 2**16  # bytes read at once
LARGEST = 2**20  # bytes that are unpacked at once: a thousand times as many can be packed into a block
MEMORY = 2**28  # bytes that an unpacker may take, which an .xz names in its header: xz -9 asks for a quarter
GZIP = 31  # zlib's number for gzip with the largest window


class BrokenError(Exception):
    """The file is not what its ending says, or not all of it is there."""


class Unpacker(Protocol):
    """What unpacks one member: `eof` once it has ended, then `unused_data` is what came after it.

    needs_input: all that came out of what it was given has been taken.
    """

    @property
    def eof(self) -> bool: ...

    @property
    def unused_data(self) -> bytes: ...

    @property
    def needs_input(self) -> bool: ...

    def decompress(self, data: bytes, max_length: int) -> bytes: ...


class Gzip:
    """zlib's, with the manners of the others."""

    def __init__(self) -> None:
        self._inner = zlib.decompressobj(GZIP)

    @property
    def eof(self) -> bool:
        return self._inner.eof

    @property
    def unused_data(self) -> bytes:
        return self._inner.unused_data

    @property
    def needs_input(self) -> bool:
        return not self._inner.eof and not self._inner.unconsumed_tail

    def decompress(self, data: bytes, max_length: int) -> bytes:
        return self._inner.decompress(self._inner.unconsumed_tail + data, max_length)


UNPACKERS: Mapping[str, Callable[[], Unpacker]] = {
    ".gz": Gzip,
    ".bz2": bz2.BZ2Decompressor,
    ".xz": partial(lzma.LZMADecompressor, memlimit=MEMORY),
}
ENDINGS = ".gz, .bz2 or .xz"  # the same for a person


def plain_name(path: Path | str) -> str:
    """The name of a file without the ending that says how it is packed: "train.tsv" for train.tsv.gz."""
    name = Path(path)
    return name.stem if name.suffix in UNPACKERS else name.name


def blocks(path: Path) -> Iterator[bytes]:
    """What a file holds, as it comes; no block is empty or large."""
    with path.open("rb", buffering=0) as file:  # of a pipe, what is there is read at once
        make = UNPACKERS.get(path.suffix)
        yield from _raw(file) if make is None else _unpacked(file, make)


def _raw(file: FileIO) -> Iterator[bytes]:
    while block := file.read(BLOCK):
        yield block


def _unpacked(file: FileIO, make: Callable[[], Unpacker]) -> Iterator[bytes]:
    unpacker = make()
    for block in _raw(file):
        while block:
            if unpacker.eof:
                unpacker = make()
            yield from filter(None, _parts(unpacker, block))
            block = unpacker.unused_data.lstrip(b"\0")  # members may be padded
    if not unpacker.eof:
        raise BrokenError("it ends too early")


def _parts(unpacker: Unpacker, block: bytes) -> Iterator[bytes]:
    """What is in a block, a little at a time."""
    yield _decompress(unpacker, block)
    while not unpacker.eof and not unpacker.needs_input:
        yield _decompress(unpacker, b"")


def _decompress(unpacker: Unpacker, block: bytes) -> bytes:
    try:
        return unpacker.decompress(block, LARGEST)
    except (zlib.error, lzma.LZMAError, OSError) as error:  # OSError: of bz2, without a number
        raise BrokenError(str(error)) from error
