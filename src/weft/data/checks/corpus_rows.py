"""Rows of corpus files (.txt pairs, .tsv, .jsonl) with their pair, including rows that training would refuse."""

import json
from collections.abc import Iterator
from functools import reduce
from itertools import chain, zip_longest
from operator import or_
from pathlib import Path
from typing import NamedTuple

from weft.core.errors import UserError
from weft.data.checks.encodings import is_valid_unicode, read_raw_lines
from weft.data.checks.pair_problems import BOM_CHARACTER
from weft.data.checks.problem_kinds import Problem
from weft.data.pair_files import LinePair, Shard, parse_pair, read_pairs


class CorpusRow(NamedTuple):
    """Line `number`, from 1, of the files of a shard.

    lines: one of each file, as it is there. pair: None if there is none. problems: bits of those of the row itself.
    """

    shard: Shard
    number: int
    lines: tuple[str, ...]
    pair: LinePair | None
    problems: int


class CorpusFiles(NamedTuple):
    """The files of a corpus. fields: the keys of a .jsonl."""

    shards: tuple[Shard, ...]
    fields: tuple[str, str]

    def paths(self) -> list[Path]:
        return [path for shard in self.shards for path in shard.paths]

    def rows(self) -> Iterator[CorpusRow]:
        return chain.from_iterable(map(self.shard_rows, self.shards))

    def shard_rows(self, shard: Shard) -> Iterator[CorpusRow]:
        if shard.records is not None:
            yield from self._records(shard)
            return
        rows = zip_longest(*map(read_raw_lines, shard.paths), fillvalue=("", Problem.UNPAIRED))
        for number, row in enumerate(rows, start=1):
            lines, problems = tuple(line for line, _ in row), reduce(or_, (found for _, found in row))
            if problems & Problem.UNPAIRED:
                yield CorpusRow(shard, number, lines, None, Problem.UNPAIRED)
            else:
                yield self.make_row(shard, number, lines, problems)

    def _records(self, shard: Shard) -> Iterator[CorpusRow]:
        for number, pair in enumerate(read_pairs(shard, self.fields), start=1):
            valid = all(map(is_valid_unicode, pair))
            yield CorpusRow(shard, number, ("\t".join(pair),), *((pair, 0) if valid else (None, Problem.INVALID_UTF8)))

    def make_row(self, shard: Shard, number: int, lines: tuple[str, ...], problems: int) -> CorpusRow:
        """Parse the lines of a row. problems: those of their bytes."""
        if not all(map(is_valid_unicode, lines)):
            return CorpusRow(shard, number, lines, None, problems | Problem.INVALID_UTF8)
        try:
            pair = parse_pair(shard, self.fields, [_strip_line(line, number) for line in lines], number)
        except UserError:
            return CorpusRow(shard, number, lines, None, problems | Problem.MALFORMED_ROW)
        return CorpusRow(shard, number, lines, pair, problems)

    def replace_pair(self, row: CorpusRow, pair: LinePair) -> CorpusRow:
        """Return the row with another pair; other columns and fields, byte order marks and line ends
        stay."""
        if row.pair is None or pair == row.pair:
            return row
        first = _strip_line(row.lines[0], row.number)
        match row.shard.format:
            case "lines":
                texts = [pair[1]]
            case "text":
                texts = [*pair]
            case "tsv":
                texts = ["\t".join([*pair, *first.split("\t", 2)[2:]])]
            case "jsonl":
                fields = json.loads(first) | dict(zip(self.fields, pair, strict=True))
                text = json.dumps(fields, ensure_ascii=False)
                texts = [text if is_valid_unicode(text) else json.dumps(fields)]
            case _:
                texts = ["\t".join(pair)]
        starts = (BOM_CHARACTER if row.number == 1 and line.startswith(BOM_CHARACTER) else "" for line in row.lines)
        ends = ("\r" if line.endswith("\r") else "" for line in row.lines)
        return row._replace(lines=tuple(map("".join, zip(starts, texts, ends, strict=True))), pair=pair)


def _strip_line(line: str, number: int) -> str:
    """Remove what training does not read either: the line end, and a byte order mark at the start of the file."""
    return (line.removeprefix(BOM_CHARACTER) if number == 1 else line).removesuffix("\r")
