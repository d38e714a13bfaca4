"""Pairs from files that are not lines: CSV, Parquet, and documents with both languages (PO, TMX, XLIFF).

Line breaks within a text become spaces. Records are counted from 1; the header of a CSV file is none.
"""

from __future__ import annotations

import csv
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Literal, NamedTuple, TypeAlias, get_args

from weft.core.errors import UserError
from weft.core.extras import require_extra
from weft.core.formatting import pluralize
from weft.data.text_files import read_blocks, read_lines, uncompressed_name

if TYPE_CHECKING:
    import pyarrow

RecordFormat: TypeAlias = Literal["csv", "parquet", "po", "tmx", "xliff"]
RECORD_FORMATS: tuple[RecordFormat, ...] = get_args(RecordFormat)
RECORD_SUFFIXES: dict[str, RecordFormat] = {
    ".csv": "csv",
    ".parquet": "parquet",
    ".po": "po",
    ".tmx": "tmx",
    ".xlf": "xliff",
    ".xliff": "xliff",
}
MAX_DOCUMENT_BYTES = 2**28
ROWS_PER_READ = 1024  # of Parquet
TRANSLATION_COLUMN = "translation"  # of the datasets of Hugging Face: a struct with a text per language


class Columns(NamedTuple):
    """Where source and target are in a row, from 0."""

    source: int
    target: int


def record_format(name: Path | str) -> RecordFormat | None:
    """Return the format that the suffix of a file names, compressed or not."""
    suffix = Path(uncompressed_name(name)).suffix
    return RECORD_SUFFIXES.get(suffix)


def read_records(path: Path, form: RecordFormat, fields: tuple[str, str]) -> Iterator[tuple[str, str]]:
    """Yield the pairs of a file. fields: the names of the columns, or the languages of a translation column."""
    if form == "csv":
        records = _read_csv(path, fields)
    elif form == "parquet":
        records = _read_parquet(path, fields)
    else:
        records = _read_document(path, form)
    return ((_join_lines(source), _join_lines(target)) for source, target in records)


def _join_lines(text: str) -> str:
    return text.replace("\r\n", " ").replace("\n", " ").replace("\r", " ").replace("\t", " ")


def _read_csv(path: Path, fields: tuple[str, str]) -> Iterator[tuple[str, str]]:
    """Read columns with the names of the fields, or the first two if the first row does not have these names."""
    lines = (f"{line}\n" for line in read_lines(path))
    first = next(lines, "")
    delimiter = max(",;\t", key=first.count)
    rows = csv.reader(_chain(first, lines), delimiter=delimiter, strict=True)
    columns, number = Columns(0, 1), 0
    known = [field.casefold() for field in fields]
    try:
        for row in rows:
            names = [name.strip().casefold() for name in row]
            if rows.line_num == 1 and {*known} <= {*names}:
                columns = Columns(*map(names.index, known))
            elif row:
                number += 1
                yield _csv_pair(row, columns, f"{path}, record {number} (line {rows.line_num})")
    except csv.Error as error:
        raise UserError(f"{path}, record {number + 1} (line {rows.line_num}): not CSV ({error})") from error


def _chain(first: str, lines: Iterator[str]) -> Iterator[str]:
    yield first
    yield from lines


def _csv_pair(row: Sequence[str], columns: Columns, location: str) -> tuple[str, str]:
    if len(row) <= max(columns):
        raise UserError(
            f"{location}: has {pluralize(len(row), 'column')}, but source and target are columns {columns.source + 1} "
            f"and {columns.target + 1}. Quote texts that contain the separator."
        )
    return row[columns.source], row[columns.target]


def _read_parquet(path: Path, fields: tuple[str, str]) -> Iterator[tuple[str, str]]:
    require_extra("parquet", f"{path}: a Parquet file")
    import pyarrow
    import pyarrow.parquet

    try:
        with pyarrow.parquet.ParquetFile(path) as file:
            names = _parquet_columns(file.schema_arrow, fields, path)
            columns = list(dict.fromkeys(name.partition(".")[0] for name in names))
            batches = file.iter_batches(ROWS_PER_READ, columns=columns)
            number = 0
            for batch in batches:
                sides = [_column_values(batch, name) for name in names]
                for source, target in zip(*sides, strict=True):
                    number += 1
                    if not isinstance(source, str) or not isinstance(target, str):
                        raise UserError(f"{path}, record {number}: a text is missing")
                    yield source, target
    except (pyarrow.ArrowException, OSError) as error:
        raise UserError(f"{path}: cannot be read as Parquet ({error})") from error


def _parquet_columns(schema: pyarrow.Schema, fields: tuple[str, str], path: Path) -> list[str]:
    """Return the names of the columns of source and target; "translation.en" is a field of a struct."""
    import pyarrow

    def text_fields(columns: Sequence[pyarrow.Field], prefix: str) -> list[str]:
        is_text = [pyarrow.types.is_string(one.type) or pyarrow.types.is_large_string(one.type) for one in columns]
        names = [f"{prefix}{one.name}" for one, text in zip(columns, is_text, strict=True) if text]
        wanted = [f"{prefix}{field}" for field in fields]
        return wanted if {*wanted} <= {*names} else names

    found = text_fields(list(schema), "")
    if TRANSLATION_COLUMN in schema.names and pyarrow.types.is_struct(struct := schema.field(TRANSLATION_COLUMN).type):
        found = text_fields([struct.field(number) for number in range(struct.num_fields)], f"{TRANSLATION_COLUMN}.")
    if len(found) != 2:
        raise UserError(
            f"{path}: has {len(found)} columns of text ({', '.join(found) or 'none'}), but needs two, source and "
            "target. Name them with data.fields."
        )
    return found


def _column_values(batch: pyarrow.RecordBatch, name: str) -> list[object]:
    column, _, field = name.partition(".")
    values: list[object] = batch.column(column).to_pylist()
    return [value.get(field) if isinstance(value, dict) else None for value in values] if field else values


def _read_document(path: Path, form: RecordFormat) -> Iterator[tuple[str, str]]:
    from weft.documents.document import DocumentError, DocumentOptions
    from weft.documents.formats import format_by_name

    read_pairs = format_by_name(form).read_pairs
    assert read_pairs is not None, "a format with both languages"
    number = 0
    try:
        for source, target in read_pairs(_read_content(path), DocumentOptions()):
            number += 1
            yield source.text, target.text
    except DocumentError as error:
        raise UserError(f"{path}, after record {number}: {error}") from error


def _read_content(path: Path) -> bytes:
    """Return the decompressed content of a file of bounded size."""
    blocks, size = list[bytes](), 0
    for block in read_blocks(path):
        size += len(block)
        if size > MAX_DOCUMENT_BYTES:
            raise UserError(f"{path}: has more than {MAX_DOCUMENT_BYTES >> 20} MiB. Divide it into several files.")
        blocks.append(block)
    return b"".join(blocks)
