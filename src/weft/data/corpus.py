"""Pairs of lines, read from files as they are needed."""

import json
from collections.abc import Iterator, Sequence
from hashlib import blake2b
from itertools import zip_longest
from pathlib import Path

from weft.core.errors import UserError
from weft.data.lines import hash_file, read_lines, require_file


class Corpus:
    """Two text files of as many lines, or one .tsv (the first two columns) or .jsonl (the fields named); maybe .gz.

    A line break inside a JSON string becomes a space, since everywhere else an example is a line.
    """

    def __init__(self, paths: Sequence[Path | str], fields: tuple[str, str] = ("source", "target")):
        self.paths = tuple(Path(path) for path in paths)
        self.fields = fields
        self._kind = _kind(self.paths)

    def __str__(self) -> str:
        return " + ".join(map(str, self.paths))

    def pairs(self) -> Iterator[tuple[str, str]]:
        """Each source line with its target line."""
        self._require_files()
        readers = {"text": self._text_pairs, "tsv": self._tsv_pairs, "jsonl": self._jsonl_pairs}
        number = 0
        for number, pair in enumerate(readers[self._kind](), start=1):  # noqa: B007 (the last number is used)
            yield pair
        if number == 0:
            raise UserError(f"{self}: empty, there is no pair in it")

    def fingerprint(self) -> str:
        """Equal for equal bytes read in the same way, wherever the files are."""
        self._require_files()
        whole = blake2b(json.dumps([self._kind, self.fields]).encode(), digest_size=16)
        for path in self.paths:
            whole.update(hash_file(path))
        return whole.hexdigest()

    def _require_files(self) -> None:
        for path in self.paths:
            require_file(path)
            if not path.is_file():
                raise UserError(f"{path}: is not a plain file; it is read more than once, so write it to one first")

    def _text_pairs(self) -> Iterator[tuple[str, str]]:
        source_lines, target_lines = (read_lines(path) for path in self.paths)
        for number, (source, target) in enumerate(zip_longest(source_lines, target_lines)):
            if source is None or target is None:
                first, second = number, number
                if source is not None:
                    first += 1 + sum(1 for _ in source_lines)
                else:
                    second += 1 + sum(1 for _ in target_lines)
                raise UserError(
                    f"{self.paths[0]} has {first:,} lines and {self.paths[1]} has {second:,}: "
                    "line n of one must be the translation of line n of the other"
                )
            yield source, target

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
