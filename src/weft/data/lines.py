"""The lines of a file, one at a time. A line ends at "\\n" and nowhere else."""

from collections.abc import Iterable, Iterator
from difflib import get_close_matches
from hashlib import file_digest
from pathlib import Path

from weft.core.errors import UserError
from weft.data.unpacking import BrokenError, blocks

BYTE_ORDER_MARK = b"\xef\xbb\xbf"
LONGEST = 2**24  # bytes of a line: some million words


def read_lines(path: Path | str) -> Iterator[str]:
    """The lines of a file, unpacked if it ends in .gz, .bz2 or .xz."""
    return decoded(whole_lines(file_blocks(Path(path)), str(path)), str(path))


def decoded(parts: Iterable[bytes], name: str) -> Iterator[str]:
    """Each line without its end ("\\n", or "\\r\\n"); a byte order mark at the start is left out.

    parts: one line or several each, with their ends.
    """
    number = 0  # of the lines before this part
    for part in parts:
        if number == 0:
            part = part.removeprefix(BYTE_ORDER_MARK)
        try:
            yield from _lines_in(part)
        except UnicodeDecodeError as error:
            begin = part.rfind(b"\n", 0, error.start) + 1  # of the line
            if begin:
                yield from _lines_in(part[:begin])
            number += part.count(b"\n", 0, begin) + 1
            raise UserError(
                f"{name}, line {number}: not UTF-8 (byte 0x{part[error.start]:02X} at position "
                f"{error.start - begin + 1} of the line); convert it to UTF-8"
            ) from None
        number += part.count(b"\n")


def _lines_in(part: bytes) -> list[str]:
    return part.decode("utf-8").removesuffix("\n").removesuffix("\r").replace("\r\n", "\n").split("\n")


def whole_lines(blocks: Iterable[bytes], name: str) -> Iterator[bytes]:
    """The same bytes, parted where lines end. A line that never seems to end is refused before it fills the memory."""
    begun: list[bytes] = []  # the line that has not ended yet
    number, size = 1, 0  # of that line
    for block in blocks:
        end = block.rfind(b"\n") + 1
        if end:
            yield b"".join([*begun, block[:end]])
            begun.clear()
            number, size = number + block.count(b"\n"), 0
        begun.append(block[end:])
        size += len(begun[-1])
        if size > LONGEST:
            raise UserError(
                f"{name}, line {number}: more than {LONGEST >> 20} MiB without a line end, where one sentence should "
                "stand; is it the right file?"
            )
    if rest := b"".join(begun):
        yield rest


def one_line(text: str) -> str:
    """A byte piece of a tokenizer can spell a line end; an output is one line all the same."""
    return text.replace("\n", " ")


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
        raise no_such_file(path)


def no_such_file(path: Path) -> UserError:
    """What to say of a file that is not there: where it was looked for, and what may have been meant."""
    looked = "" if path.is_absolute() else f" (looked for from {Path.cwd()})"
    return UserError(f"{path}: there is no such file{looked}{_nearest(path)}")


def require_plain_file(path: Path) -> None:
    """The same of a pipe or a device, which have no end or can be read but once."""
    require_file(path)
    if not path.is_file():
        raise UserError(f"{path}: is not a plain file; it is read more than once, so write it to one first")


def file_blocks(path: Path) -> Iterator[bytes]:
    """What a file holds, unpacked; what is wrong with it is told."""
    require_file(path)
    try:
        yield from blocks(path)
    except BrokenError as error:
        raise UserError(f"{path}: this {path.suffix} file is broken ({error}); copy or pack it again") from error
    except OSError as error:
        raise UserError(f"{path}: cannot be read ({error.strerror})") from error


def _nearest(path: Path) -> str:
    if not path.parent.is_dir():
        return f", nor a folder {path.parent}"
    names = sorted(entry.name for entry in path.parent.iterdir())
    stems = get_close_matches(path.stem, {Path(name).stem for name in names})  # an equal ending makes no name near
    nearest = get_close_matches(path.name, [name for name in names if Path(name).stem in stems], n=1)
    return f"; is it {path.parent / nearest[0]}?" if nearest else ""
