"""The lines of a file, one at a time. A line ends at "\\n" and nowhere else."""

import gzip
import zlib
from collections.abc import Iterable, Iterator
from difflib import get_close_matches
from hashlib import file_digest
from pathlib import Path
from typing import BinaryIO, cast

from weft.core.errors import UserError

BYTE_ORDER_MARK = b"\xef\xbb\xbf"


def read_lines(path: Path | str) -> Iterator[str]:
    """The lines of a file; .gz is unpacked."""
    return decoded(_read_raw(Path(path)), str(path))


def decoded(lines: Iterable[bytes], name: str) -> Iterator[str]:
    """Each line without its end ("\\n", or "\\r\\n"); a byte order mark at the start is left out."""
    for number, line in enumerate(lines, start=1):
        if number == 1:
            line = line.removeprefix(BYTE_ORDER_MARK)
        try:
            yield line.removesuffix(b"\n").removesuffix(b"\r").decode("utf-8")
        except UnicodeDecodeError as error:
            raise UserError(
                f"{name}, line {number}: not UTF-8 (byte 0x{line[error.start]:02X} at position {error.start + 1} "
                "of the line); convert it to UTF-8"
            ) from None


def beside(file: Path, name: str, line: int) -> str:
    """The path of a file that a line of another one names, from the folder that this stands in; no name stays none."""
    if not name.strip():
        return name
    path = file.parent / name
    try:
        require_plain_file(path)
    except UserError as error:
        raise UserError(f"{file}, line {line}: {error}") from error
    return str(path)


def hash_file(path: Path) -> bytes:
    """A hash of the bytes as they are stored."""
    require_file(path)
    try:
        with path.open("rb") as file:
            return file_digest(file, "blake2b").digest()
    except OSError as error:
        raise UserError(f"{path}: cannot be read ({error.strerror})") from error


def require_file(path: Path) -> None:
    """Say what is wrong with a path that cannot be read, and what may have been meant."""
    try:
        folder, there = path.is_dir(), path.exists()
    except OSError as error:  # a folder above it is closed to us, or what should be a name is a whole text
        raise UserError(f"{path}: cannot be read ({error.strerror})") from error
    if folder:
        raise UserError(f"{path}: is a folder, not a file")
    if not there:
        looked = "" if path.is_absolute() else f" (looked for from {Path.cwd()})"
        raise UserError(f"{path}: there is no such file{looked}{_nearest(path)}")


def require_plain_file(path: Path) -> None:
    """The same of a pipe or a device, which have no end or can be read but once."""
    require_file(path)
    if not path.is_file():
        raise UserError(f"{path}: is not a plain file; it is read more than once, so write it to one first")


def _read_raw(path: Path) -> Iterator[bytes]:
    require_file(path)
    try:
        with _open(path) as file:
            yield from file
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise UserError(f"{path}: broken gzip ({error}); copy or pack the file again") from error
    except OSError as error:
        raise UserError(f"{path}: cannot be read ({error.strerror})") from error


def _open(path: Path) -> BinaryIO:
    return cast(BinaryIO, gzip.open(path, "rb")) if path.suffix == ".gz" else path.open("rb")


def _nearest(path: Path) -> str:
    if not path.parent.is_dir():
        return f", nor a folder {path.parent}"
    names = sorted(entry.name for entry in path.parent.iterdir())
    nearest = get_close_matches(path.name, names, n=1)
    return f"; is it {path.parent / nearest[0]}?" if nearest else ""
