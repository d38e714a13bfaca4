"""Systems that are to be compared, and what with."""

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from weft.core.errors import UserError
from weft.data.lines import read_lines
from weft.metric.examples import check_as_many, is_table, read_references, references_in, sources_beside
from weft.metric.lines import Lines


class System(NamedTuple):
    """A name, and an output for each line."""

    name: str
    outputs: Sequence[str]


class Material(NamedTuple):
    """The outputs of one or more systems for the same lines, the references of these, and maybe what they read."""

    systems: Sequence[System]
    references: Sequence[Sequence[str]]
    sources: Sequence[str] | None = None

    def lines(self) -> list[Lines]:
        """Of each system."""
        return [Lines(system.outputs, self.references, self.sources) for system in self.systems]


def read_material(references: Sequence[Path], systems: Sequence[Path], source: Path | None) -> Material:
    """From files of as many lines as the first one of references has."""
    first, wanted = references[0], len(references_in(references[0]))
    rows = read_references(references, wanted, first)
    read = [_read_beside(path, first, wanted) for path in systems]
    named = [System(name, outputs) for name, outputs in zip(names_of(systems), read, strict=True)]
    if source is None:
        return Material(named, rows, sources_beside(references))
    if any(map(is_table, references)):
        raise UserError(f"{first} holds the source too, in its first column: leave out --source {source}")
    return Material(named, rows, _read_beside(source, first, wanted))


def names_of(paths: Sequence[Path]) -> list[str]:
    """The names of the files, as far as they tell them apart, else the whole paths."""
    for number, path in enumerate(paths):
        if path in paths[:number]:
            raise UserError(f"{path} is given twice: a system can only be compared with another one")
    short = [path.name for path in paths]
    return short if len(set(short)) == len(short) else [str(path) for path in paths]


def _read_beside(path: Path, first: Path, wanted: int) -> list[str]:
    lines = list(read_lines(path))
    check_as_many(path, len(lines), first, wanted)
    return lines
