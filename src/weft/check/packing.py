"""Files that are packed again as their names say."""

import bz2
import gzip
import lzma
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Protocol


class Sink(Protocol):
    """What can be written to."""

    def write(self, data: bytes, /) -> int: ...


@contextmanager
def open_packed(path: Path) -> Iterator[Sink]:
    """A new file to write to, in a folder that is made if it is not there."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("wb") as file:
        match path.suffix:
            case ".gz":
                with gzip.GzipFile("", "wb", fileobj=file, mtime=0) as packed:
                    yield packed
            case ".bz2":
                with bz2.BZ2File(file, "wb") as packed:
                    yield packed
            case ".xz":
                with lzma.LZMAFile(file, "wb") as packed:
                    yield packed
            case _:
                yield file
