"""Text files, plain or compressed (.gz, .bz2, .xz): lines are read one at a time with bounded memory.

A line ends at "\\n" and nowhere else.
"""

import bz2
import gzip
import lzma
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from difflib import get_close_matches
from functools import partial
from io import BufferedIOBase
from pathlib import Path
from typing import TypeAlias

from weft.core.errors import UserError

READ_BYTES = 2**16
MAX_DECOMPRESSED_BYTES = 2**20  # per step: a block can expand a thousandfold
XZ_MEMORY_LIMIT = 2**28  # bytes; the header of an .xz states its need, which for xz -9 is a quarter of this
GZIP_WBITS = 31  # zlib's number for gzip with the largest window
UTF8_BOM = b"\xef\xbb\xbf"
MAX_LINE_BYTES = 2**24  # about a million words


class CorruptFileError(Exception):
    """The file is truncated or not of the format that its suffix indicates."""


class GzipDecompressor:
    """zlib.decompressobj with the interface of the others."""

    def __init__(self) -> None:
        self._zlib = zlib.decompressobj(GZIP_WBITS)
        self.eof, self.unused_data, self.needs_input = False, b"", True

    def decompress(self, data: bytes, max_length: int) -> bytes:
        block = self._zlib.decompress(self._zlib.unconsumed_tail + data, max_length)
        self.eof, self.unused_data = self._zlib.eof, self._zlib.unused_data
        self.needs_input = not self.eof and not self._zlib.unconsumed_tail
        return block


Decompressor: TypeAlias = GzipDecompressor | bz2.BZ2Decompressor | lzma.LZMADecompressor  # of one member of a file
DECOMPRESSORS: Mapping[str, Callable[[], Decompressor]] = {
    ".gz": GzipDecompressor,
    ".bz2": bz2.BZ2Decompressor,
    ".xz": partial(lzma.LZMADecompressor, memlimit=XZ_MEMORY_LIMIT),
}
COMPRESSED_SUFFIXES = ".gz, .bz2 or .xz"


def uncompressed_name(path: Path | str) -> str:
    """Return the file name without a compression suffix: "train.tsv" for train.tsv.gz."""
    name = Path(path)
    return name.stem if name.suffix in DECOMPRESSORS else name.name


def _decompress(blocks: Iterable[bytes], make: Callable[[], Decompressor]) -> Iterator[bytes]:
    """Decompress all members of a file, which zero bytes may separate."""
    decompressor = make()
    for data in blocks:
        if decompressor.eof:
            data = data.lstrip(b"\0")
        while data or not (decompressor.eof or decompressor.needs_input):
            if decompressor.eof:
                decompressor = make()
            try:
                block = decompressor.decompress(data, MAX_DECOMPRESSED_BYTES)
            except (zlib.error, lzma.LZMAError, OSError) as error:  # OSError: from bz2
                raise CorruptFileError(str(error)) from error
            if block:
                yield block
            data = decompressor.unused_data.lstrip(b"\0")  # of the next member
    if not decompressor.eof:
        raise CorruptFileError("it ends too early")


def open_compressed(path: Path) -> BufferedIOBase:
    """Open a new file for writing, compressed according to its suffix; create its folder."""
    path.parent.mkdir(parents=True, exist_ok=True)
    match path.suffix:
        case ".gz":
            return gzip.GzipFile(path, "wb", mtime=0)
        case ".bz2":
            return bz2.BZ2File(path, "wb")
        case ".xz":
            return lzma.LZMAFile(path, "wb")
    return path.open("wb")


def read_lines(path: Path | str) -> Iterator[str]:
    """Yield the lines of a file, decompressed if it ends in .gz, .bz2 or .xz."""
    return decode_lines(split_at_line_ends(read_blocks(Path(path)), str(path)), str(path))


def decode_lines(chunks: Iterable[bytes], name: str) -> Iterator[str]:
    """Yield each line without its end ("\\n" or "\\r\\n") and without a byte order mark at the start.

    chunks: one or more complete lines each. Raise UserError at the first line that is not UTF-8.
    """
    line_count = 0
    for chunk in chunks:
        if line_count == 0:
            chunk = chunk.removeprefix(UTF8_BOM)
        try:
            yield from _decode_chunk(chunk)
        except UnicodeDecodeError as error:
            line_start = chunk.rfind(b"\n", 0, error.start) + 1
            if line_start:
                yield from _decode_chunk(chunk[:line_start])
            line_count += chunk.count(b"\n", 0, line_start) + 1
            raise UserError(
                f"{name}, line {line_count}: not UTF-8 (byte 0x{chunk[error.start]:02X} at position "
                f"{error.start - line_start + 1} of the line). Convert the file to UTF-8."
            ) from None
        line_count += chunk.count(b"\n")


def _decode_chunk(chunk: bytes) -> list[str]:
    return chunk.decode("utf-8").removesuffix("\n").removesuffix("\r").replace("\r\n", "\n").split("\n")


def split_at_line_ends(blocks: Iterable[bytes], name: str) -> Iterator[bytes]:
    """Regroup bytes into chunks that end where a line ends; raise UserError if a line exceeds MAX_LINE_BYTES."""
    unfinished: list[bytes] = []
    line_number, size = 1, 0  # of the unfinished line
    for block in blocks:
        end = block.rfind(b"\n") + 1
        if end:
            yield b"".join([*unfinished, block[:end]])
            unfinished.clear()
            line_number, size = line_number + block.count(b"\n"), 0
        unfinished.append(block[end:])
        size += len(unfinished[-1])
        if size > MAX_LINE_BYTES:
            raise UserError(
                f"{name}, line {line_number}: more than {MAX_LINE_BYTES >> 20} MiB without a line end. Is it text "
                "with one sentence per line?"
            )
    if rest := b"".join(unfinished):
        yield rest


def replace_line_breaks(text: str) -> str:
    """Make an output one line: the byte tokens of a tokenizer can spell a line end."""
    return text.replace("\n", " ")


def read_blocks(path: Path) -> Iterator[bytes]:
    """Yield the decompressed content of a file in non-empty blocks of bounded size."""
    require_file(path)
    make = DECOMPRESSORS.get(path.suffix)
    try:
        with path.open("rb", buffering=0) as file:  # unbuffered, so that a pipe yields what is available
            blocks = iter(partial(file.read, READ_BYTES), b"")
            yield from blocks if make is None else _decompress(blocks, make)
    except CorruptFileError as error:
        raise UserError(f"{path}: this {path.suffix} file is broken ({error}). Copy or compress it again.") from error
    except OSError as error:
        raise UserError(f"{path}: cannot be read ({error.strerror})") from error


def require_file(path: Path) -> None:
    """Raise UserError if the path does not exist or is a folder."""
    try:
        is_folder, exists = path.is_dir(), path.exists()
    except OSError as error:  # no permission for a parent folder, or a text instead of a file name
        raise UserError(f"{path}: cannot be read ({error.strerror})") from error
    if is_folder:
        raise UserError(f"{path}: is a folder, not a file")
    if not exists:
        raise missing_file_error(path)


def require_regular_file(path: Path) -> None:
    """Raise UserError if the path is not a regular file, such as a pipe, which can be read only once."""
    require_file(path)
    if not path.is_file():
        raise UserError(f"{path}: is not a regular file. It is read more than once, so write it to a file first.")


def missing_file_error(path: Path) -> UserError:
    """Return the error for a missing file, with the closest existing name."""
    origin = "" if path.is_absolute() else f" (relative to {Path.cwd()})"
    if not path.parent.is_dir():
        return UserError(f"{path}: there is no such file{origin}, nor a folder {path.parent}")
    names = sorted(entry.name for entry in path.parent.iterdir())
    stems = get_close_matches(path.stem, {Path(name).stem for name in names})  # an equal suffix makes no name close
    close = get_close_matches(path.name, [name for name in names if Path(name).stem in stems], n=1)
    hint = f"; is it {path.parent / close[0]}?" if close else ""
    return UserError(f"{path}: there is no such file{origin}{hint}")


def resolve_listed_file(list_file: Path, name: str, line: int) -> str:
    """Return the path of a file that a line of `list_file` names, relative to its folder; a blank name stays blank."""
    if not name.strip():
        return name
    path = list_file.parent / name
    try:
        require_regular_file(path)
    except UserError as error:
        raise UserError(f"{list_file}, line {line}: {error}") from error
    return str(path)
