"""Reads source lines (or image names) and writes translations to a file or standard output as they are produced;
reports truncated lines and unmet constraints on standard error. Must not import torch.
"""

import sys
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import BinaryIO, NamedTuple

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
    """Translate a file or standard input line by line. alignments: a second file, with the word alignment of each line.

    Truncated lines and unmet constraints are reported on standard error.
    """
    text_only = request_reader.as_json or request_reader.glossary is not None or request_reader.protect
    if backend.source_codec.modality != "text" and text_only:
        raise UserError("this model reads images, not text: leave --json-input, --glossary and --protect out")
    requests = request_reader(read_sources(backend, source))
    translations = _without_buffer_on_terminal(backend, source).stream(requests)
    problems = _LineProblems([], [])
    if alignments is None:
        write_lines(problems.format_lines(translations, as_json), output)
    else:
        write_atomically(
            alignments, lambda file: write_lines(problems.format_lines(translations, as_json, file), output)
        )
    report_truncated_lines(problems.truncated, backend)
    problems.report_unmet_constraints()


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
        raise UserError("this model reads images, which have no sentences: leave --paragraphs out")
    stream = _without_buffer_on_terminal(backend, source).stream
    paragraphs = translate_paragraphs(
        lambda sentences: stream(request_reader(sentences)), read_input_lines(source), splitter
    )
    problems = _LineProblems([], [])
    write_lines(problems.format_lines(paragraphs, as_json), output)
    report_truncated_sources("sentences", backend.max_source_length(), problems.truncated)
    problems.report_unmet_constraints()


class _LineProblems(NamedTuple):
    """The numbers, from 1, of truncated lines and of lines with an unmet constraint."""

    truncated: list[int]
    unmet: list[int]

    def format_lines(
        self, results: Iterable[Translation | TranslatedParagraph], as_json: bool, alignments: BinaryIO | None = None
    ) -> Iterator[str]:
        """Format results as they come, and collect their problems. alignments: a file for their word alignments."""
        for number, result in enumerate(results, 1):
            if alignments is not None and isinstance(result, Translation):
                alignments.write(f"{format_pharaoh(result.aligned_words)}\n".encode())
            if result.truncated:
                self.truncated.append(number)
            if not all(check.met for check in result.constraint_checks):
                self.unmet.append(number)
            yield format_line(result, as_json=as_json)

    def report_unmet_constraints(self) -> None:
        if self.unmet:
            lines = f"{pluralize(len(self.unmet), 'line')}: {first_few(self.unmet)}"
            print(f"weft: constraints are not met in {lines} (--json shows which)", file=sys.stderr)


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
    return (_image_path(file, name, number) for number, name in enumerate(names, start=1))


def _image_path(file: Path, name: str, number: int) -> str:
    try:
        return resolve_listed_file(file, name, number)
    except UserError as error:
        image, tab, _ = name.partition("\t")
        if not tab:
            raise
        raise UserError(
            f"{file}, line {number}: should be the name of an image, but there is a tab after {image}. "
            "To score a table of images and texts: weft evaluate MODEL TEST.tsv"
        ) from error


def report_truncated_lines(numbers: Sequence[int], backend: Backend) -> None:
    """Report on standard error which lines, counted from 1, were longer than the model reads."""
    if numbers:
        what, units = ("line", "tokens") if backend.source_codec.modality == "text" else ("image", "columns")
        were, limit = "was" if len(numbers) == 1 else "were", backend.max_source_length()
        lines = f"{pluralize(len(numbers), what)} {were} longer than {limit} {units}"
        print(f"weft: {lines} and {were} truncated: {first_few(numbers)}", file=sys.stderr)


def report_truncated_sources(what: str, limit: int, numbers: Sequence[int]) -> None:
    """Report on standard error which lines, counted from 1, have a source that was longer than the model reads."""
    if numbers:
        lines = f"{pluralize(len(numbers), 'line')}: {first_few(numbers)}"
        print(f"weft: {what} longer than {limit} tokens were truncated, in {lines}", file=sys.stderr)


def _without_buffer_on_terminal(backend: Backend, source: Path | None) -> Backend:
    """The backend, which answers each line at once if a person types them."""
    return backend.unbuffered() if source is None and sys.stdin.isatty() else backend
