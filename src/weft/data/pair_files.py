"""Files that hold sentence pairs: two parallel text files, or one file with both sides (.tsv, .jsonl, and those of
record_files.py); a name may be a glob pattern that stands for many shards.
"""

import json
from collections.abc import Iterator, Sequence
from glob import glob
from itertools import zip_longest
from pathlib import Path
from typing import Literal, NamedTuple, TypeAlias

from weft.core.errors import UserError
from weft.data.record_files import RECORD_FORMATS, RECORD_SUFFIXES, RecordFormat, read_records, record_format
from weft.data.text_files import COMPRESSED_SUFFIXES, read_lines, require_regular_file, uncompressed_name

ShardFormat: TypeAlias = Literal["lines", "text", "tsv", "jsonl"] | RecordFormat
LinePair: TypeAlias = tuple[str, str]  # source, target
TABLE_SUFFIXES = (".tsv", ".jsonl", *RECORD_SUFFIXES)
WILDCARDS = frozenset("*?[")


class Shard(NamedTuple):
    """Files read together: two parallel texts (`text`), a table of pairs, or one monolingual text (`lines`)."""

    paths: tuple[Path, ...]
    format: ShardFormat

    @property
    def records(self) -> RecordFormat | None:
        """The format of a file of records; None for files of lines."""
        return next((form for form in RECORD_FORMATS if form == self.format), None)

    @property
    def unit(self) -> str:
        """What is counted in messages."""
        return "line" if self.records is None else "record"


def find_shards(names: Sequence[Path], *, monolingual: bool) -> tuple[Shard, ...]:
    """Return the shards of a corpus, sorted by name: the first source file belongs to the first target file."""
    shard_format = _shard_format(names, monolingual=monolingual)
    sides = [matching_files(name) for name in names]
    if len(sides) == 2:
        _check_file_pairs(names, *sides)
    return tuple(Shard(paths, shard_format) for paths in zip(*sides, strict=True))


def matching_files(name: Path) -> list[Path]:
    """Return the sorted files that a glob pattern matches, or the file itself, which need not exist."""
    if WILDCARDS.isdisjoint(str(name)) or name.exists():
        return [name]
    paths = map(Path, glob(str(name), recursive=True))  # noqa: PTH207 (Path.glob takes no absolute pattern)
    found = sorted(path for path in paths if not path.is_dir())
    if not found:
        origin = "" if name.is_absolute() else f" (relative to {Path.cwd()})"
        raise UserError(f"{name}: no file matches this pattern{origin}")
    return found


def require_matching_files(name: Path) -> None:
    """Raise UserError unless a name or pattern stands for readable files."""
    for path in matching_files(name):
        require_regular_file(path)


def is_table_file(name: Path | str) -> bool:
    return uncompressed_name(name).endswith(TABLE_SUFFIXES)


def _shard_format(names: Sequence[Path], *, monolingual: bool) -> ShardFormat:
    is_table = len(names) == 1 and is_table_file(names[0])
    found = ", ".join(map(str, names)) or "nothing"
    if monolingual and (len(names) != 1 or is_table):
        raise UserError(
            f"with data.monolingual, lines are read from one text file (it may end in {COMPRESSED_SUFFIXES}) or from "
            f"all files that a pattern such as 'shards/*.txt' matches; got {found}. For pairs, leave "
            "data.monolingual out."
        )
    if monolingual:
        return "lines"
    if len(names) == 2:
        return "text"
    if is_table:
        return record_format(names[0]) or ("tsv" if uncompressed_name(names[0]).endswith(".tsv") else "jsonl")
    many = "; to name many files, use one quoted pattern for each side: 'shards/*.en'" if len(names) > 2 else ""
    raise UserError(
        f"pairs are read from two text files, or from one of {', '.join(TABLE_SUFFIXES)} (each may end in "
        f"{COMPRESSED_SUFFIXES}); "
        f"got {found}{many}"
    )


def _check_file_pairs(names: Sequence[Path], sources: Sequence[Path], targets: Sequence[Path]) -> None:
    """Raise UserError if file counts differ, or if wildcards match partly the same text on both sides."""
    hint = _unpaired_file_hint(names, sources, targets)
    if len(sources) != len(targets):
        raise UserError(
            f"{names[0]} matches {len(sources):,} files and {names[1]} {len(targets):,}, but each source file needs "
            f"its target file{hint}"
        )
    if hint:
        raise UserError(f"{names[0]} and {names[1]} match the same number of files, but with different names{hint}")


def _unpaired_file_hint(names: Sequence[Path], *sides: Sequence[Path]) -> str:
    """Return the first file without a counterpart; names that have nothing in common are paired by order alone."""
    matched = [[_wildcard_text(name, path) for path in side] for name, side in zip(names, sides, strict=True)]
    source, target = map(set, matched)
    if source.isdisjoint(target) or source == target:
        return ""
    unpaired = (
        path
        for side, texts, others in zip(sides, matched, (target, source), strict=True)
        for path, text in zip(side, texts, strict=True)
        if text not in others
    )
    return f"; {next(unpaired)} has no partner"


def _wildcard_text(name: Path, path: Path) -> str:
    """Return what the wildcards and the text between them stand for: "01" where part*.en matched part01.en."""
    pattern = str(name)
    first = min((pattern.index(wild) for wild in WILDCARDS if wild in pattern), default=len(pattern))
    after = len(pattern) - max(pattern.rfind(wild) for wild in "*?]") - 1
    return str(path)[first : len(str(path)) - after]


def read_pairs(shard: Shard, fields: tuple[str, str]) -> Iterator[LinePair]:
    """Yield the pairs of a shard; monolingual lines are targets of an empty source. fields: keys or columns."""
    if shard.records is not None:
        yield from read_records(shard.paths[0], shard.records, fields)
        return
    try:
        for number, lines in enumerate(zip(*map(read_lines, shard.paths), strict=True), start=1):
            yield parse_pair(shard, fields, lines, number)
    except ValueError:
        raise UserError(_length_mismatch_message(*shard.paths)) from None


def _length_mismatch_message(*paths: Path) -> str:
    """Read files of different lengths once more to report where the difference may have started."""
    counts, unpaired, half_empty = [0, 0], "", 0
    for number, pair in enumerate(zip_longest(*map(read_lines, paths)), start=1):
        counts = [number if line is not None else count for line, count in zip(pair, counts, strict=True)]
        has_text = [bool((line or "").strip()) for line in pair]
        if None in pair:
            unpaired = unpaired or next(line for line in pair if line is not None)
        elif not half_empty and has_text[0] != has_text[1]:
            half_empty = number
    sizes = " and ".join(f"{path} has {count:,} lines" for path, count in zip(paths, counts, strict=True))
    hint = f"; line {half_empty:,} is empty on one side only: look there first" if half_empty else ""
    excerpt = unpaired if len(unpaired) <= 40 else unpaired[:40] + "..."
    return (
        f"{sizes}, but line n of one must be the translation of line n of the other. "
        f"Line {min(counts) + 1:,} of {paths[counts.index(max(counts))]} is the first without a partner: "
        f"{excerpt!r}{hint}"
    )


def parse_pair(shard: Shard, fields: tuple[str, str], lines: Sequence[str], number: int) -> LinePair:
    """Return the pair in line `number` of the files of a shard; raise UserError if there is none."""
    match shard.format:
        case "lines":
            return "", lines[0]
        case "text":
            return lines[0], lines[1]
        case "tsv":
            columns = lines[0].split("\t", 2)
            if len(columns) < 2:
                raise UserError(
                    f"{shard.paths[0]}, line {number}: expected source and target separated by a tab, got no tab"
                )
            return columns[0], columns[1]
        case "jsonl":
            location = f"{shard.paths[0]}, line {number}"
            row = _parse_object(lines[0], location)
            return _string_field(row, fields[0], location), _string_field(row, fields[1], location)
        case _:
            raise ValueError(f"a file of records has no lines: {shard.paths[0]}")


def _parse_object(line: str, location: str) -> dict[str, object]:
    try:
        row = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise UserError(f"{location}: not JSON ({error})") from None
    if not isinstance(row, dict):
        raise UserError(f'{location}: expected an object such as {{"source": "...", "target": "..."}}')
    return row


def _string_field(row: dict[str, object], field: str, location: str) -> str:
    value = row.get(field)
    if not isinstance(value, str):
        found = "no such field" if field not in row else f"a {type(value).__name__}"
        raise UserError(
            f"{location}: expected text in the field {field!r}, found {found}. Fields: {', '.join(row) or 'none'}."
        )
    try:
        value.encode("utf-8")
    except UnicodeEncodeError:
        raise UserError(f"{location}: the field {field!r} contains half of a surrogate pair") from None
    return value.replace("\n", " ")
