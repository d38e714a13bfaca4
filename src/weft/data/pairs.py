"""The pairs in one shard, each form of file in its own way."""

import json
from collections.abc import Iterator
from itertools import zip_longest
from pathlib import Path
from typing import TypeAlias

from weft.core.errors import UserError
from weft.data.lines import read_lines
from weft.data.shards import Shard

Pair: TypeAlias = tuple[str, str]  # a source line and its target line


def read_pairs(shard: Shard, fields: tuple[str, str]) -> Iterator[Pair]:
    """The pairs of a shard; of lines alone, each is the target of an empty source. fields: the keys of a .jsonl."""
    match shard.kind:
        case "lines":
            return (("", line) for line in read_lines(*shard.paths))
        case "text":
            return _text_pairs(*shard.paths)
        case "tsv":
            return (tsv_pair(line, path, number) for path, number, line in _numbered(shard))
        case "jsonl":
            return (jsonl_pair(fields, line, path, number) for path, number, line in _numbered(shard))


def _numbered(shard: Shard) -> Iterator[tuple[Path, int, str]]:
    """Each line of a table, with its file and its number from 1."""
    return ((path, number, line) for path in shard.paths for number, line in enumerate(read_lines(path), start=1))


def _text_pairs(source: Path, target: Path) -> Iterator[Pair]:
    try:
        yield from zip(read_lines(source), read_lines(target), strict=True)
    except ValueError:
        raise UserError(_unequal(source, target)) from None


def _unequal(*paths: Path) -> str:
    """What to say of files that have not as many lines; they are read once more to find out where it began."""
    counts, alone, half_empty = [0, 0], "", 0
    for number, pair in enumerate(zip_longest(*map(read_lines, paths)), start=1):
        counts = [number if line is not None else count for line, count in zip(pair, counts, strict=True)]
        here = [bool((line or "").strip()) for line in pair]
        if None in pair:
            alone = alone or next(line for line in pair if line is not None)
        elif not half_empty and here[0] != here[1]:
            half_empty = number
    told = " and ".join(f"{path} has {count:,} lines" for path, count in zip(paths, counts, strict=True))
    hint = f"; line {half_empty:,} is empty on one side only: look there first" if half_empty else ""
    return (
        f"{told}, but line n of one must be the translation of line n of the other. "
        f"Line {min(counts) + 1:,} of {paths[counts.index(max(counts))]} is the first without a partner: "
        f"{shortened(alone)!r}{hint}"
    )


def shortened(line: str) -> str:
    return line if len(line) <= 40 else line[:40] + "..."


def tsv_pair(line: str, path: Path, number: int) -> Pair:
    """The pair in line `number` of a .tsv."""
    columns = line.split("\t", 2)
    if len(columns) < 2:
        raise UserError(f"{path}, line {number}: wanted source and target with a tab between, got no tab")
    return columns[0], columns[1]


def jsonl_pair(fields: tuple[str, str], line: str, path: Path, number: int) -> Pair:
    """The pair in line `number` of a .jsonl."""
    place = f"{path}, line {number}"
    row = _parse(line, place)
    return _field(row, fields[0], place), _field(row, fields[1], place)


def _parse(line: str, place: str) -> dict[str, object]:
    try:
        row = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise UserError(f"{place}: not JSON ({error})") from None
    if not isinstance(row, dict):
        raise UserError(f'{place}: wanted an object such as {{"source": "...", "target": "..."}}')
    return row


def _field(row: dict[str, object], field: str, place: str) -> str:
    value = row.get(field)
    if not isinstance(value, str):
        found = "no such field" if field not in row else f"a {type(value).__name__}"
        raise UserError(
            f"{place}: wanted text in the field {field!r}, found {found}; it has {', '.join(row) or 'none'}"
        )
    try:
        value.encode("utf-8")
    except UnicodeEncodeError:
        raise UserError(f"{place}: half of a surrogate pair in the field {field!r} is no letter") from None
    return value.replace("\n", " ")
