"""Sources, references and system outputs from .tsv or text files, checked to have equally many lines."""

from collections.abc import Callable, Sequence
from itertools import chain
from pathlib import Path
from typing import NamedTuple, TypeAlias

from weft.core.errors import UserError
from weft.data.text_files import read_lines, uncompressed_name
from weft.metrics.scores import Segments


class EvaluationSet(NamedTuple):
    """Source lines with the references of each, and the file of the sources."""

    sources: list[str]
    references: list[tuple[str, ...]]
    file: Path


def read_references(paths: Sequence[Path], count: int, other: Path) -> list[tuple[str, ...]]:
    """Return the references of each line from all files, each of which must have as many lines as the file `other`."""
    if not count:
        raise UserError(f"{other}: is empty, so there are no lines to evaluate")
    columns = [_read_reference_file(path) for path in paths]
    for path, column in zip(paths, columns, strict=True):
        _check_line_count(path, len(column), other, count)
    return [tuple(chain.from_iterable(rows)) for rows in zip(*columns, strict=True)]


def read_tsv_sources(references: Sequence[Path]) -> list[str] | None:
    """Return the sources from the first .tsv of the reference files, if there is one."""
    table = next(filter(is_tsv, references), None)
    return None if table is None else read_tsv(table).sources


def is_tsv(path: Path) -> bool:
    return uncompressed_name(path).endswith(".tsv")


def read_tsv(path: Path) -> EvaluationSet:
    """Read a file with a source and its references, separated by tabs, per line.

    Empty columns, with which spreadsheets pad rows, are skipped, but every line has at least one reference.
    """
    examples = EvaluationSet([], [], path)
    for number, line in enumerate(read_lines(path), start=1):
        source, *references = line.split("\t")
        if not references:
            raise UserError(
                f"{path}, line {number}: expected a source and its references separated by tabs, got no tab"
            )
        examples.sources.append(source)
        examples.references.append(tuple(filter(None, references)) or ("",))
    if not examples.sources:
        raise UserError(f"{path}: is empty, so there are no lines to evaluate")
    return examples


def _read_reference_file(path: Path) -> list[tuple[str, ...]]:
    """The references of each line: the line itself, or in a .tsv all its columns but the first."""
    return read_tsv(path).references if is_tsv(path) else [(line,) for line in read_lines(path)]


def _check_line_count(path: Path, lines: int, other: Path, expected: int) -> None:
    if lines != expected:
        raise UserError(f"{path} has {lines} lines, {other} has {expected}: the files must correspond line by line.")


Translate: TypeAlias = Callable[[Path, EvaluationSet], list[str]]


class SystemOutput(NamedTuple):
    """The name and the outputs of a system."""

    name: str
    outputs: Sequence[str]


class ComparisonData(NamedTuple):
    """The outputs of one or more systems for the same lines, with references and maybe sources."""

    systems: Sequence[SystemOutput]
    references: Sequence[Sequence[str]]
    sources: Sequence[str] | None = None

    def segments(self) -> list[Segments]:
        """Return the segments of each system."""
        return [Segments(system.outputs, self.references, self.sources) for system in self.systems]


def read_comparison_data(
    references: Sequence[Path],
    systems: Sequence[Path],
    source: Path | None,
    translate: Translate,
    source_option: str = "--source",
) -> Callable[[], ComparisonData]:
    """Read files that all have as many lines as the first reference file; return what completes the data.

    translate: returns the outputs of the model in a folder. source_option: the name of `source` in messages.
    """
    first, count = references[0], len(_read_reference_file(references[0]))
    rows, names = read_references(references, count, first), system_names(systems)
    files = {path: _read_aligned_lines(path, first, count) for path in systems if not path.is_dir()}
    if source is None:
        table = next(filter(is_tsv, references), None)
        sources, origin = None if table is None else read_tsv(table).sources, table
    elif any(map(is_tsv, references)):
        raise UserError(f"{first} has the source in its first column: omit {source_option} {source}")
    else:
        sources, origin = _read_aligned_lines(source, first, count), source
    if sources is not None and origin is not None:
        examples = EvaluationSet(sources, rows, origin)
    elif len(files) < len(systems):
        model = next(path for path in systems if path not in files)
        raise UserError(
            f"{model} is a model, and there is no source for it to translate: add {source_option} FILE, or give one "
            ".tsv with sources and references"
        )

    def complete() -> ComparisonData:
        outputs = [files[path] if path in files else translate(path, examples) for path in systems]
        return ComparisonData(list(map(SystemOutput, names, outputs)), rows, sources)

    return complete


def system_names(paths: Sequence[Path]) -> list[str]:
    """Return the file names if they differ, else the whole paths."""
    for number, path in enumerate(paths):
        if path in paths[:number]:
            raise UserError(f"{path} is given twice: compare different systems")
    short = [path.name for path in paths]
    return short if len(set(short)) == len(short) else [str(path) for path in paths]


def _read_aligned_lines(path: Path, first: Path, count: int) -> list[str]:
    lines = list(read_lines(path))
    _check_line_count(path, len(lines), first, count)
    return lines
