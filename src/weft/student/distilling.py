"""What the teacher says, written down: sequence-level distillation.

Kim & Rush 2016, section 3.2: the student learns from y = argmax p_teacher(y | x), which the teacher's own search finds
about. A line has one such translation where people have many, so that a small model has less to choose from.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import BinaryIO, TypeAlias

from weft.store.files import remove_leftovers, write_atomically

LINES = 1000  # of a part: what a kill can cost

Pair: TypeAlias = tuple[str, str]
Fields: TypeAlias = tuple[str, str]  # the keys of a pair in a .jsonl
TranslateLines: TypeAlias = Callable[[Sequence[str]], Iterable[str]]


def distil(
    lines: Iterable[str],
    translate: TranslateLines,
    folder: Path,
    fields: Fields,
    tell: Callable[[int, int], None],
    size: int = LINES,
) -> None:
    """A file for each part of the lines, in order; those that are there are kept.

    tell: how many lines there are, and how many of them were made now.
    """
    remove_leftovers(folder)
    remaining, done, made = iter(lines), 0, 0
    while part := list(islice(remaining, size)):
        place = folder / f"part-{done // size:06}.jsonl"
        if not place.exists():
            write_pairs(place, zip(part, translate(part), strict=True), fields)
            made += len(part)
        done += len(part)
        tell(done, made)


def join(folder: Path, others: Iterable[Pair], fields: Fields, place: Path) -> None:
    """All parts, and then the other pairs, in one file; the parts are removed once it is whole."""
    parts = sorted(folder.glob("part-*.jsonl"))

    def write(file: BinaryIO) -> None:
        for part in parts:
            file.write(part.read_bytes())
        file.writelines(as_lines(others, fields))

    write_atomically(place, write)
    for part in parts:
        part.unlink()


def write_pairs(place: Path, pairs: Iterable[Pair], fields: Fields) -> None:
    write_atomically(place, lambda file: file.writelines(as_lines(pairs, fields)))


def as_lines(pairs: Iterable[Pair], fields: Fields) -> Iterator[bytes]:
    """JSON, since a line of text may hold tabs and carriage returns."""
    for pair in pairs:
        yield f"{json.dumps(dict(zip(fields, pair, strict=True)), ensure_ascii=False)}\n".encode()
