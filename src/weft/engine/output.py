"""Translations to a file or to standard output, as they come."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, Protocol, TypeVar

from weft.control.asking import PLAIN, Asking
from weft.core.errors import UserError
from weft.data.lines import decoded, read_lines
from weft.engine.named import named_in
from weft.engine.paragraphs import translate_lines
from weft.engine.records import as_line, as_paragraph, pairs_of
from weft.engine.role import Engine
from weft.engine.translation import Translation
from weft.engine.wording import counted, some
from weft.picture.names import is_picture
from weft.store.files import write_atomically
from weft.text.alignment import pharaoh
from weft.text.sentences import Splitter

if TYPE_CHECKING:
    from weft.control.checking import Checked

STANDARD_INPUT = Path("/dev/stdin")


def check_output(output: Path | None, inputs: Iterable[Path | None]) -> None:
    """Before any work: is the file to write none of those that are read? It would be lost. None: a standard stream."""
    for file in inputs:
        if output is not None and is_same_file(output, file or STANDARD_INPUT):
            raise UserError(f"{output}: is read from, so it would be lost if it were written to; name another file")


def check_outputs(outputs: Sequence[Path | None], inputs: Iterable[Path | None]) -> None:
    """The same for several files to write, of which no two may be one."""
    read, written = list(inputs), [output for output in outputs if output is not None]
    for output in written:
        check_output(output, read)
    for number, output in enumerate(written):
        if any(output.resolve() == other.resolve() for other in written[:number]):
            raise UserError(f"{output}: is to be written twice; name another file for one of the two")


def is_same_file(output: Path, file: Path) -> bool:
    """Under whatever names. A device or a pipe loses nothing."""
    try:
        return output.is_file() and output.samefile(file)
    except OSError:  # it is not there, or what may be a name is a whole sentence
        return False


def write_translations(
    engine: Engine,
    source: Path | None,
    output: Path | None,
    *,
    as_json: bool,
    asking: Asking = PLAIN,
    alignments: Path | None = None,
) -> None:
    """A line out for each line in, and into `alignments` a row of words that belong together.

    Lines that had to be cut, or lack what was asked for, are told on standard error.
    """
    text_only = asking.as_json or asking.glossary is not None or asking.protect
    if engine.reader.reads == "pictures" and text_only:
        raise UserError("this model reads pictures, not text: leave --json-input, --glossary and --protect out")
    unmet = Unmet()
    translations = unmet.noted(answering(engine, source).stream(asking(sources_of(engine, source))))
    if alignments is None:
        cut = write_lines(((as_line(one, as_json=as_json), one.cut) for one in translations), output)
    else:
        cut = write_with_alignments(translations, output, alignments, as_json=as_json)
    tell_cut(cut, engine)
    unmet.tell()


def write_with_alignments(
    translations: Iterable[Translation], output: Path | None, alignments: Path, *, as_json: bool
) -> list[int]:
    """The same as `write_lines`, with a second file; neither is there if the work breaks off."""
    cut: list[int] = []

    def write(file: BinaryIO) -> None:
        def lines() -> Iterator[tuple[str, bool]]:
            for one in translations:
                file.write(f"{pharaoh(pairs_of(one))}\n".encode())
                yield as_line(one, as_json=as_json), one.cut

        cut.extend(write_lines(lines(), output))

    write_atomically(alignments, write)
    return cut


def write_paragraphs(
    engine: Engine,
    splitter: Splitter,
    source: Path | None,
    output: Path | None,
    *,
    as_json: bool,
    asking: Asking = PLAIN,
) -> None:
    """The same for lines of any number of sentences."""
    if engine.reader.reads == "pictures":
        raise UserError("this model reads pictures, which have no sentences: leave --paragraphs out")
    unmet, stream = Unmet(), answering(engine, source).stream

    def sentences(lines: Iterable[str]) -> Iterator[Translation]:
        return stream(asking(lines))

    translations = unmet.noted(translate_lines(sentences, lines_of(source), splitter))
    cut = write_lines(((as_paragraph(one, as_json=as_json), one.cut) for one in translations), output)
    tell_cut_sentences(cut, engine.least_source_limit())
    unmet.tell()


def answering(engine: Engine, source: Path | None) -> Engine:
    """The engine, without waiting for more lines where a person types and wants each answer at once."""
    if source is None and sys.stdin.isatty():
        return engine.line_by_line()
    return engine


def sources_of(engine: Engine, source: Path | None) -> Iterator[str]:
    """The lines to translate; or the pictures that they name, or the one that the source is."""
    reader = engine.reader
    if reader.reads == "text" or source is None:
        return lines_of(source)
    if not is_picture(source.name):
        return named_in(source, read_lines(source))
    reader.encode_rows([str(source)])  # a picture has no lines: if it cannot be read, none is told
    return iter([str(source)])


def lines_of(source: Path | None) -> Iterator[str]:
    return decoded(sys.stdin.buffer, "standard input") if source is None else read_lines(source)


def write_lines(lines: Iterable[tuple[str, bool]], output: Path | None) -> list[int]:
    """Write each line as it comes; the numbers, counted from 1, of those that are marked."""
    marked: list[int] = []

    def write(file: BinaryIO) -> None:
        for number, (line, mark) in enumerate(lines, 1):
            file.write(line.encode())
            file.flush()
            if mark:
                marked.append(number)

    if output is None:
        write(sys.stdout.buffer)
    else:
        write_atomically(output, write)
    return marked


class HasChecked(Protocol):
    """What may lack something that was asked for."""

    @property
    def checked(self) -> tuple[Checked, ...]: ...


Line = TypeVar("Line", bound=HasChecked)


class Unmet:
    """The numbers, counted from 1, of lines that lack what was asked for."""

    def __init__(self) -> None:
        self.lines: list[int] = []

    def noted(self, translations: Iterable[Line]) -> Iterator[Line]:
        """The same translations, looked at as they pass."""
        for number, translation in enumerate(translations, 1):
            if not all(one.met for one in translation.checked):
                self.lines.append(number)
            yield translation

    def tell(self) -> None:
        if self.lines:
            told = f"what was asked for is not met in {counted(len(self.lines), 'line')}: {some(self.lines)}"
            print(f"weft: {told} (--json tells what)", file=sys.stderr)


def tell_cut(cut: Sequence[int], engine: Engine) -> None:
    """Say which lines, counted from 1, were longer than the model reads."""
    if cut:
        pictures = engine.reader.reads == "pictures"
        what, of = ("picture", "columns") if pictures else ("line", "pieces")
        limit = engine.least_source_limit()
        were = "was" if len(cut) == 1 else "were"
        told = f"{counted(len(cut), what)} {were} longer than {limit} {of} and {were} cut there: {some(cut)}"
        print(f"weft: {told}", file=sys.stderr)


def tell_cut_sentences(cut: Sequence[int], limit: int) -> None:
    """Say which lines, counted from 1, have a sentence that was longer than the model reads."""
    if cut:
        told = f"sentences longer than {limit} pieces were cut there, in {counted(len(cut), 'line')}: {some(cut)}"
        print(f"weft: {told}", file=sys.stderr)
