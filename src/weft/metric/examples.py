"""What is compared, from files: sources and references, in a .tsv or in files of lines."""

from collections.abc import Sequence
from itertools import chain
from pathlib import Path
from typing import NamedTuple

from weft.core.errors import UserError
from weft.data.lines import read_lines
from weft.data.unpacking import plain_name


class Examples(NamedTuple):
    """Lines to translate and, for each of them, its references; and the file that the lines stand in."""

    sources: list[str]
    references: list[tuple[str, ...]]
    file: Path


def read_references(paths: Sequence[Path], wanted: int, beside: Path) -> list[tuple[str, ...]]:
    """For each line its references, from every file; each file must have as many lines as `beside`."""
    if not wanted:
        raise UserError(f"{beside}: is empty, so there are no lines to evaluate")
    columns = [references_in(path) for path in paths]
    for path, column in zip(paths, columns, strict=True):
        check_as_many(path, len(column), beside, wanted)
    return [tuple(chain.from_iterable(rows)) for rows in zip(*columns, strict=True)]


def sources_beside(references: Sequence[Path]) -> list[str] | None:
    """What was translated, if it stands beside the references, in a .tsv."""
    table = next(filter(is_table, references), None)
    return None if table is None else read_table(table).sources


def check_as_many(path: Path, lines: int, beside: Path, wanted: int) -> None:
    if lines != wanted:
        raise UserError(f"{path} has {lines} lines, {beside} has {wanted}: they must be equal, line by line.")


def references_in(path: Path) -> list[tuple[str, ...]]:
    """The references of each line: the line itself, or in a .tsv all its columns but the first."""
    return read_table(path).references if is_table(path) else [(line,) for line in read_lines(path)]


def is_table(path: Path) -> bool:
    return plain_name(path).endswith(".tsv")


def read_table(path: Path) -> Examples:
    """On each line the source and then its references, as many as it has, with tabs between.

    Empty columns are passed over, since a spreadsheet fills its rows up with them; but a line keeps one reference.
    """
    examples = Examples([], [], path)
    for number, line in enumerate(read_lines(path), start=1):
        source, *references = line.split("\t")
        if not references:
            raise UserError(f"{path}, line {number}: wanted source and references with tabs between, got no tab")
        examples.sources.append(source)
        examples.references.append(tuple(filter(None, references)) or ("",))
    if not examples.sources:
        raise UserError(f"{path}: is empty, so there are no lines to evaluate")
    return examples
