"""The rows of a corpus, each with the pair that stands in it, whatever is wrong with them."""

import json
from collections.abc import Iterator
from functools import reduce
from itertools import chain, zip_longest
from operator import or_
from pathlib import Path
from typing import NamedTuple, TypeAlias

from weft.check.raw_lines import is_readable, raw_lines
from weft.core.errors import UserError
from weft.data.kinds import BROKEN, ENCODING, UNPAIRED
from weft.data.looking import BYTE_ORDER_MARK
from weft.data.pairs import Pair, jsonl_pair, tsv_pair
from weft.data.shards import Shard

Lines: TypeAlias = tuple[str, ...]  # of one row: one of each file of its shard


class Row(NamedTuple):
    """Line `number`, from 1, of the files of a shard: `lines` as they stand there, and their pair, if there is one.

    found: what is wrong with the row, whatever the pair is.
    """

    shard: Shard
    number: int
    lines: Lines
    pair: Pair | None
    found: int

    def file(self, side: int) -> Path:
        """The file that this side stands in: 0 is the source."""
        return self.shard.paths[min(side, len(self.shard.paths) - 1)]


class Files(NamedTuple):
    """Where the rows of a corpus stand. fields: the keys of a .jsonl."""

    shards: tuple[Shard, ...]
    fields: tuple[str, str]

    def rows(self) -> Iterator[Row]:
        """Every row."""
        return chain.from_iterable(map(self.rows_of, self.shards))

    def rows_of(self, shard: Shard) -> Iterator[Row]:
        """Those of one shard."""
        for number, lines in enumerate(zip_longest(*map(raw_lines, shard.paths)), start=1):
            texts = tuple("" if line is None else line.text for line in lines)
            if None in lines:
                yield Row(shard, number, texts, None, UNPAIRED)
            else:
                yield self.row(shard, number, texts, reduce(or_, (line.found for line in lines if line is not None)))

    def row(self, shard: Shard, number: int, lines: Lines, found: int) -> Row:
        """The row in which these lines stand. found: what is wrong with their bytes."""
        if not all(map(is_readable, lines)):
            return Row(shard, number, lines, None, found | ENCODING)
        try:
            return Row(shard, number, lines, self._pair(shard, number, lines), found)
        except UserError:
            return Row(shard, number, lines, None, found | BROKEN)

    def paths(self) -> list[Path]:
        return [path for shard in self.shards for path in shard.paths]

    def _pair(self, shard: Shard, number: int, lines: Lines) -> Pair:
        plain = [_plain(line, number) for line in lines]
        match shard.kind:
            case "lines":
                return "", plain[0]
            case "text":
                return plain[0], plain[1]
            case "tsv":
                return tsv_pair(plain[0], shard.paths[0], number)
            case "jsonl":
                return jsonl_pair(self.fields, plain[0], shard.paths[0], number)

    def rewritten(self, row: Row, pair: Pair) -> Lines:
        """The lines of the row with another pair in them; what else stands there stays."""
        if row.pair is None or pair == row.pair:
            return row.lines
        ends = ["\r" if line.endswith("\r") else "" for line in row.lines]
        written = self._written(row, pair)
        return tuple(line + end for line, end in zip(written, ends, strict=True))

    def _written(self, row: Row, pair: Pair) -> list[str]:
        match row.shard.kind:
            case "lines":
                return [pair[1]]
            case "text":
                return [*pair]
            case "tsv":
                return ["\t".join([*pair, *_plain(row.lines[0], row.number).split("\t", 2)[2:]])]
            case "jsonl":
                changed = json.loads(_plain(row.lines[0], row.number)) | dict(zip(self.fields, pair, strict=True))
                text = json.dumps(changed, ensure_ascii=False)
                return [text if is_readable(text) else json.dumps(changed)]


def _plain(line: str, number: int) -> str:
    """Without what training does not read either: the end, and a byte order mark at the start of the file."""
    return (line.removeprefix(BYTE_ORDER_MARK) if number == 1 else line).removesuffix("\r")
