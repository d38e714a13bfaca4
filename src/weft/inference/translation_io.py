"""Reads source lines or image names, and writes translations as they are produced. Must not import torch."""

import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import BinaryIO

from weft.core.codec import Codec
from weft.core.errors import UserError
from weft.core.files import write_atomically
from weft.core.formatting import first_few, pluralize
from weft.core.progress_bar import track_progress
from weft.data.image_codec import is_image_name
from weft.data.text_files import decode_lines, read_lines, resolve_listed_file
from weft.decoding.constraints.request import PLAIN_READER, RequestReader
from weft.inference.text_translator import TextTranslator
from weft.inference.translation import SpanMethod, Translation, format_line
from weft.text.word_alignment import format_pharaoh

METHOD_TEXTS: dict[SpanMethod, str] = {
    "copy": "at the start or end of a sentence",
    "tags": "placed by the model",
    "search": "required in a second search",
    "alignment": "placed by word alignment",
    "split": "where the sentence was cut",
}


def write_translations(
    translator: TextTranslator,
    lines: Iterable[str],
    output: Path | None,
    *,
    as_json: bool,
    request_reader: RequestReader = PLAIN_READER,
    alignments: Path | None = None,
) -> None:
    """Translate lines. alignments: a second file, with the word alignments."""
    translations = translator.stream(request_reader(lines))
    if alignments is None:
        _write_results(translations, translator, output, as_json=as_json)
    else:
        write_atomically(
            alignments, lambda file: _write_results(translations, translator, output, as_json=as_json, alignments=file)
        )


def _write_results(
    results: Iterable[Translation],
    translator: TextTranslator,
    output: Path | None,
    *,
    as_json: bool,
    alignments: BinaryIO | None = None,
) -> None:
    """Write results as they come; then report what the user should know about them."""
    truncated, unmet, methods = list[int](), list[int](), Counter[SpanMethod]()

    def lines() -> Iterator[str]:
        shown = track_progress(results, "translating", prints_items=output is None)
        for number, result in enumerate(shown, 1):
            if alignments is not None:
                alignments.write(f"{format_pharaoh(result.aligned_words)}\n".encode())
            if result.truncated:
                truncated.append(number)
            if not all(check.met for check in result.constraint_checks):
                unmet.append(number)
            methods.update(span.method for span in result.protected)
            yield format_line(result, as_json=as_json)

    write_lines(lines(), output)
    report_truncated(truncated, translator.max_source_length(), translator.source_codec)
    if unmet:
        numbers = f"{pluralize(len(unmet), 'line')}: {first_few(unmet)}"
        print(f"weft: constraints are not met in {numbers} (--json shows which)", file=sys.stderr)
    for line in describe_methods(methods):
        print(f"weft: {line}", file=sys.stderr)


def describe_methods(methods: Counter[SpanMethod]) -> list[str]:
    """Return how spans were placed in one line; none if the model placed all of them."""
    if methods.total() == methods["copy"] + methods["tags"]:
        return []
    listed = ", ".join(f"{methods[method]:,} {text}" for method, text in METHOD_TEXTS.items() if methods[method])
    return [f"{pluralize(methods.total(), 'protected span')}: {listed}"]


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


def read_sources(codec: Codec, source: Path | None) -> Iterator[str]:
    """The lines to translate; for a model that reads images, the images that they name, or the source itself."""
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


def report_truncated(numbers: Sequence[int], limit: int, codec: Codec) -> None:
    """Report on standard error which lines, counted from 1, have a source that was longer than the model reads."""
    if numbers:
        positions = "tokens" if codec.modality == "text" else "columns"
        lines = f"{pluralize(len(numbers), 'line')}: {first_few(numbers)}"
        print(f"weft: sources longer than {limit} {positions} were truncated, in {lines}", file=sys.stderr)
