"""The part of `weft translate` for documents: recognizes them, checks the options, translates and reports."""

import sys
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from weft.cli.options import refuse_options
from weft.core.errors import UserError

if TYPE_CHECKING:
    from weft.decoding.constraints.request import Request
    from weft.documents.document import DocumentFormat, DocumentOptions
    from weft.inference.document_translation import DocumentReport
    from weft.inference.text_translator import TextTranslator
    from weft.inference.translation import Translation

PLAIN_TEXT = "text"  # for --format: lines, whatever the file contains
HEAD_BYTES = 2**16  # of a file, by which its format is recognized
MAX_LISTED = 5


def recognize_document(path: Path | None, format_name: str | None) -> "DocumentFormat | None":
    """Return the format of a file, or the one that --format names; None if its lines are to be translated."""
    from weft.documents.formats import find_format, format_by_name

    if format_name is not None and format_name != PLAIN_TEXT:
        try:
            return format_by_name(format_name)
        except UserError as error:
            raise UserError(f"--format {format_name}: {error}") from error
    if path is None or format_name == PLAIN_TEXT or not path.is_file():
        return None
    try:
        with path.open("rb") as file:
            head = file.read(HEAD_BYTES)
    except OSError as error:
        raise UserError(f"{path}: cannot be read ({error.strerror})") from error
    return find_format(path, head)


def check_document_options(
    document_format: "DocumentFormat", path: Path | None, output: Path | None, options: Mapping[str, object]
) -> Path:
    """Raise UserError for options that make no sense for a document; return the path of its file.

    options: those for lines, by name; false if not set.
    """
    from weft.documents.formats import BINARY_FORMATS

    refuse_options(f"{path or 'standard input'} is a document ({document_format.title})", options, "for lines of text")
    if path is None:
        raise UserError("--format needs a file: name it after the model")
    if output is None and document_format.name in BINARY_FORMATS:
        raise UserError(f"{path}: {document_format.title} is not text. Add --output FILE{path.suffix}.")
    return path


def language_options(model: Path, *, overwrite: bool) -> "DocumentOptions":
    """Return the options with the languages of a model, as far as they are known."""
    from weft.checkpoints.model_folder import read_model_folder
    from weft.documents.document import DocumentOptions

    source, target = read_model_folder(model).config["data"].get("languages") or ("", "")
    return DocumentOptions(source, target, overwrite)


def translate_document_file(
    translator: "TextTranslator",
    path: Path,
    document_format: "DocumentFormat",
    options: "DocumentOptions",
    output: Path | None,
) -> None:
    """Translate a document, and report on standard error what became of its texts."""
    from weft.core.files import write_atomically
    from weft.core.progress_bar import track_progress
    from weft.documents.document import DocumentError
    from weft.inference.document_translation import read_document, translate_document

    def stream(requests: "Iterable[Request]") -> "Iterator[Translation]":
        return track_progress(translator.stream(requests), f"translating {path}")

    try:
        translated = translate_document(read_document(path), document_format, options, stream)
    except DocumentError as error:
        raise UserError(f"{path}: {error}") from error
    if output is None:
        sys.stdout.buffer.write(translated.content)
        sys.stdout.buffer.flush()
    else:
        write_atomically(output, translated.content)
    for line in report_lines(path, translated.report):
        print(f"weft: {line}", file=sys.stderr)


def report_lines(path: Path, report: "DocumentReport") -> list[str]:
    """Return what the user should know: counts, texts that were left out, and how markup was placed."""
    from weft.inference.translation_io import describe_methods

    skipped = [f"{count:,} {reason}" for reason, count in report.skipped.items()]
    skipped += [f"{len(report.rejected):,} left as they were"] * bool(report.rejected)
    lines = [f"{path}: {', '.join([f'{report.translated:,} translated', *skipped])}"]
    lines += [f"{path}, {unit.location}: not translated: {reason}" for unit, reason in report.rejected[:MAX_LISTED]]
    if report.truncated:
        places = ", ".join(unit.location for unit in report.truncated[:MAX_LISTED])
        lines.append(f"{path}: longer than the model reads, so the end is missing: {places}")
    return [*lines, *(f"{path}: {line}" for line in describe_methods(report.methods))]
