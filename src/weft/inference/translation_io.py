"""Reads source lines or image names, and writes translations as they are produced. Must not import torch."""

import sys
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import BinaryIO

from weft.core.codec import Codec
from weft.core.errors import UserError
from weft.core.files import write_atomically
from weft.core.formatting import first_few, pluralize
from weft.data.image_codec import is_image_name
from weft.data.text_files import decode_lines, read_lines, resolve_listed_file
from weft.decoding.constraints.request import PLAIN_READER, RequestReader
from weft.inference.backends import Backend
from weft.inference.translation import TranslatedParagraph, Translation, format_line, translate_paragraphs
from weft.text.sentences import SentenceSplitter
from weft.text.word_alignment import format_pharaoh


def write_translations(
    backend: Backend,
    source: Path | None,
    output: Path | None,
    *,
    as_json: bool,
    request_reader: RequestReader = PLAIN_READER,
    alignments: Path | None = None,
) -> None:
    """Translate a file or standard input line by line. alignments: a second file, with the word alignments."""
    text_only = request_reader.as_json or request_reader.glossary is not None or request_reader.protect
    if backend.source_codec.modality != "text" and text_only:
        raise UserError("this model reads images, not text: omit --json-input, --glossary and --protect")
    requests = request_reader(read_sources(backend, source))
    translations = _without_buffer_on_terminal(backend, source).stream(requests)
    if alignments is None:
        _write_results(translations, backend, output, as_json=as_json)
    else:
        write_atomically(
            alignments, lambda file: _write_results(translations, backend, output, as_json=as_json, alignments=file)
        )


def write_paragraphs(
    backend: Backend,
    splitter: SentenceSplitter,
    source: Path | None,
    output: Path | None,
    *,
    as_json: bool,
    request_reader: RequestReader = PLAIN_READER,
) -> None:
    """Translate lines of any number of sentences."""
    if backend.source_codec.modality != "text":
        raise UserError("this model reads images, which have no sentences: omit --paragraphs")
    stream = _without_buffer_on_terminal(backend, source).stream
    paragraphs = translate_paragraphs(
        lambda sentences: stream(request_reader(sentences)), read_input_lines(source), splitter
    )
    _write_results(paragraphs, backend, output, as_json=as_json, unit="sentences")


def _write_results(
    results: Iterable[Translation | TranslatedParagraph],
    backend: Backend,
    output: Path | None,
    *,
    as_json: bool,
    unit: str = "sources",
    alignments: BinaryIO | None = None,
) -> None:
    """Write results as they come; then report truncated ones (`unit` names them), and those with unmet constraints."""
    truncated, unmet = list[int](), list[int]()

    def lines() -> Iterator[str]:
        for number, result in enumerate(results, 1):
            if alignments is not None and isinstance(result, Translation):
                alignments.write(f"{format_pharaoh(result.aligned_words)}\n".encode())
            if result.truncated:
                truncated.append(number)
            if not all(check.met for check in result.constraint_checks):
                unmet.append(number)
            yield format_line(result, as_json=as_json)

    write_lines(lines(), output)
    report_truncated(truncated, backend.max_source_length(), backend.source_codec, unit)
    if unmet:
        numbers = f"{pluralize(len(unmet), 'line')}: {first_few(unmet)}"
        print(f"weft: constraints are not met in {numbers} (--json shows which)", file=sys.stderr)


def write_lines(lines: Iterable[str], output: Path | None) -> None:
    """Write each line as soon as it is produced; a file appears when it is complete."""

    def write(file: BinaryIO) -> None:
        for line in lines:
            file.write(line.encode())
            file.flush()

    if output is None:
        write(sys.stdout.buffer)
    else:
        write_atomically(output, write)


def read_input_lines(source: Path | None) -> Iterator[str]:
    return decode_lines(sys.stdin.buffer, "standard input") if source is None else read_lines(source)


def read_sources(backend: Backend, source: Path | None) -> Iterator[str]:
    """The lines to translate; for a model that reads images, the images that they name, or the source itself."""
    codec = backend.source_codec
    if codec.modality == "text" or source is None:
        return read_input_lines(source)
    if not is_image_name(source.name):
        return image_paths(source, read_lines(source))
    codec.encode_rows([str(source)])  # raises an error without a line number if the image cannot be read
    return iter([str(source)])


def image_paths(file: Path, names: Iterable[str]) -> Iterator[str]:
    """The paths of the images that a file lists, one per line, relative to its folder."""
    for number, name in enumerate(names, start=1):
        try:
            yield resolve_listed_file(file, name, number)
        except UserError as error:
            image, tab, _ = name.partition("\t")
            if not tab:
                raise
            raise UserError(
                f"{file}, line {number}: should be the name of an image, but there is a tab after {image}. "
                "To score a table of images and texts: weft evaluate MODEL TEST.tsv"
            ) from error


def report_truncated(numbers: Sequence[int], limit: int, codec: Codec, unit: str = "sources") -> None:
    """Report on standard error which lines, counted from 1, have a source that was longer than the model reads."""
    if numbers:
        positions = "tokens" if codec.modality == "text" else "columns"
        lines = f"{pluralize(len(numbers), 'line')}: {first_few(numbers)}"
        print(f"weft: {unit} longer than {limit} {positions} were truncated, in {lines}", file=sys.stderr)


def _without_buffer_on_terminal(backend: Backend, source: Path | None) -> Backend:
    """The backend, which answers each line at once if a person types them."""
    return backend.unbuffered() if source is None and sys.stdin.isatty() else backend
