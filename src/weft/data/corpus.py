"""Pairs of lines, or lines alone, read from files as they are needed."""

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict
from hashlib import blake2b
from itertools import islice, zip_longest
from pathlib import Path

from weft.core.errors import UserError
from weft.data.lines import beside, hash_file, read_lines, require_plain_file
from weft.data.part import Part
from weft.text.reader import Reads
from weft.text.rereading import Rereadable


class Corpus:
    """Two text files of as many lines, or one .tsv (the first two columns) or .jsonl (the fields named); maybe .gz.

    part: if given, only its pairs are read.
    one_sided: one text file, each line of which is the target of an empty source.
    source: what its lines are. Those that name pictures, from the folder of the file they stand in, become paths; the
    pictures are part of the corpus, and what they hold is what counts, not their names.
    A line break inside a JSON string becomes a space, since everywhere else an example is a line.
    """

    def __init__(
        self,
        paths: Sequence[Path | str],
        fields: tuple[str, str] = ("source", "target"),
        part: Part | None = None,
        *,
        one_sided: bool = False,
        source: Reads = "text",
    ):
        self.paths = tuple(Path(path) for path in paths)
        self.fields = fields
        self.part = part
        self.one_sided = one_sided
        self.source = source
        self.unit = "line" if one_sided else "pair"  # what an example is called
        self._kind = _one_sided_kind(self.paths) if one_sided else _kind(self.paths)

    def __str__(self) -> str:
        held_out = " (held out)" if self.part is not None and self.part.held_out else ""
        return " + ".join(map(str, self.paths)) + held_out

    def pairs(self) -> Iterable[tuple[str, str]]:
        """Each source line with its target line, read from the files anew in each loop over them."""
        return Rereadable(self._read)

    def telling(self, pairs: Iterable[tuple[str, str]]) -> Iterator[str]:
        """The line of each pair by which it is known again: the source, if there is one; of a picture, a hash."""
        if self.source == "pictures":
            return (hash_file(Path(source)).hex() if source.strip() else "" for source, _ in pairs)
        return (target if self.one_sided else source for source, target in pairs)

    def place(self, number: int) -> str:
        """Where the pair with this number, from 0, stands."""
        lines = (line for line, _ in self._numbered())
        return f"{self.paths[0]}, line {next(islice(lines, number, None))}"

    def fingerprint(self) -> str:
        """Equal for equal bytes read in the same way, wherever the files are."""
        self._require_files()
        how = [self._kind, self.fields, None if self.part is None else asdict(self.part)]
        whole = blake2b(json.dumps(how).encode(), digest_size=16)
        for path in self.paths:
            whole.update(hash_file(path))
        if self.source == "pictures":
            for telling in self.telling(self.pairs()):
                whole.update(telling.encode())
        return whole.hexdigest()

    def _require_files(self) -> None:
        for path in self.paths:
            require_plain_file(path)

    def _read(self) -> Iterator[tuple[str, str]]:
        read = False
        for _, pair in self._numbered():
            read = True
            yield pair
        if not read and self.part is not None:
            raise UserError(
                f"{self}: no {self.unit} is in this part: change data.hold_out, or name files in data.valid"
            )
        if not read:
            raise UserError(f"{self}: empty, there is no {self.unit} in it")

    def _numbered(self) -> Iterator[tuple[int, tuple[str, str]]]:
        """The pairs of this part, each with the number of its line, from 1."""
        self._require_files()
        readers = {
            "lines": self._lines,
            "text": self._text_pairs,
            "tsv": self._tsv_pairs,
            "jsonl": self._jsonl_pairs,
        }
        for number, (source, target) in enumerate(readers[self._kind](), start=1):
            pair = (source if self.source == "text" else beside(self.paths[0], source, number)), target
            if self.part is None or self.part.has(*self.telling([pair])):
                yield number, pair

    def _lines(self) -> Iterator[tuple[str, str]]:
        (path,) = self.paths
        return (("", line) for line in read_lines(path))

    def _text_pairs(self) -> Iterator[tuple[str, str]]:
        sides = [read_lines(path) for path in self.paths]
        half_empty: int | None = None  # the first line of which only one side is there: often where a line got lost
        for number, (source, target) in enumerate(zip_longest(*sides), start=1):
            if source is None or target is None:
                rest = [
                    sum(1 for _ in side) + (line is not None)
                    for side, line in zip(sides, (source, target), strict=True)
                ]
                raise UserError(self._unequal([number - 1 + more for more in rest], source or target or "", half_empty))
            if half_empty is None and bool(source.strip()) != bool(target.strip()):
                half_empty = number
            yield source, target

    def _unequal(self, counts: Sequence[int], alone: str, half_empty: int | None) -> str:
        told = " and ".join(f"{path} has {count:,} lines" for path, count in zip(self.paths, counts, strict=True))
        longer = self.paths[counts.index(max(counts))]
        hint = "" if half_empty is None else f"; line {half_empty:,} is empty on one side only: look there first"
        return (
            f"{told}, but line n of one must be the translation of line n of the other. "
            f"Line {min(counts) + 1:,} of {longer} is the first without a partner: {shortened(alone)!r}{hint}"
        )

    def _tsv_pairs(self) -> Iterator[tuple[str, str]]:
        (path,) = self.paths
        for number, line in enumerate(read_lines(path), start=1):
            columns = line.split("\t")
            if len(columns) < 2:
                raise UserError(f"{path}, line {number}: wanted source and target with a tab between, got no tab")
            yield columns[0], columns[1]

    def _jsonl_pairs(self) -> Iterator[tuple[str, str]]:
        (path,) = self.paths
        for number, line in enumerate(read_lines(path), start=1):
            row = _parse(line, f"{path}, line {number}")
            source, target = (_field(row, field, f"{path}, line {number}") for field in self.fields)
            yield source, target


def shortened(line: str) -> str:
    return line if len(line) <= 40 else line[:40] + "..."


def _kind(paths: Sequence[Path]) -> str:
    if len(paths) == 2:
        return "text"
    if len(paths) == 1:
        kind = paths[0].name.removesuffix(".gz").rpartition(".")[2]
        if kind in ("tsv", "jsonl"):
            return kind
    given = ", ".join(map(str, paths)) or "nothing"
    raise UserError(
        f"pairs are read from two text files, or from one .tsv or .jsonl (each may end in .gz); got {given}"
    )


def _one_sided_kind(paths: Sequence[Path]) -> str:
    tables = [path for path in paths if path.name.removesuffix(".gz").endswith((".tsv", ".jsonl"))]
    if len(paths) != 1 or tables:
        given = ", ".join(map(str, paths)) or "nothing"
        raise UserError(
            f"with data.one_sided, lines are read from one text file (it may end in .gz); got {given}. "
            "For pairs, leave data.one_sided out"
        )
    return "lines"


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
