"""Translations to a file or to standard output, as they come."""

import json
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from math import isfinite
from pathlib import Path
from typing import BinaryIO

from weft.core.errors import UserError
from weft.data.lines import decoded, read_lines
from weft.engine.named import picture_or_list
from weft.engine.paragraphs import TranslatedLine, translate_lines
from weft.engine.translator import Translation, Translator
from weft.store.files import write_atomically
from weft.text.sentences import Splitter


def write_translations(translator: Translator, source: Path | None, output: Path | None, *, as_json: bool) -> None:
    """A line out for each line in; lines that had to be cut are told at the end, on standard error."""
    translations = answering(translator, source).stream(sources_of(translator, source))
    cut = write_lines(((as_line(one, as_json=as_json), one.cut) for one in translations), output)
    tell_cut(cut, translator)


def write_paragraphs(
    translator: Translator, splitter: Splitter, source: Path | None, output: Path | None, *, as_json: bool
) -> None:
    """The same for lines of any number of sentences."""
    if translator.trained.source_tokenizer.reads == "pictures":
        raise UserError("this model reads pictures, which have no sentences: leave --paragraphs out")
    translations = translate_lines(answering(translator, source).stream, lines_of(source), splitter)
    cut = write_lines(((as_paragraph(one, as_json=as_json), one.cut) for one in translations), output)
    tell_cut_sentences(cut, translator.source_limit())


def answering(translator: Translator, source: Path | None) -> Translator:
    """The translator, without waiting for more lines where a person types and wants each answer at once."""
    if source is None and sys.stdin.isatty():
        return replace(translator, settings=replace(translator.settings, window=1))
    return translator


def sources_of(translator: Translator, source: Path | None) -> Iterator[str]:
    """The lines to translate; or the pictures that they name, or that the source is."""
    pictures = translator.trained.source_tokenizer.reads == "pictures"
    return picture_or_list(source) if pictures and source is not None else lines_of(source)


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


def tell_cut(cut: Sequence[int], translator: Translator) -> None:
    """Say which lines, counted from 1, were longer than the model reads."""
    if cut:
        pictures = translator.trained.source_tokenizer.reads == "pictures"
        what, of = ("pictures", "columns") if pictures else ("lines", "pieces")
        told = f"{len(cut)} {what} were longer than {translator.source_limit()} {of} and were cut there: {some(cut)}"
        print(f"weft: {told}", file=sys.stderr)


def tell_cut_sentences(cut: Sequence[int], limit: int) -> None:
    """Say which lines, counted from 1, have a sentence that was longer than the model reads."""
    if cut:
        count = "1 line" if len(cut) == 1 else f"{len(cut)} lines"
        told = f"sentences longer than {limit} pieces were cut there, in {count}: {some(cut)}"
        print(f"weft: {told}", file=sys.stderr)


def some(numbers: Sequence[int]) -> str:
    return ", ".join(map(str, numbers[:10])) + (" ..." if len(numbers) > 10 else "")


def as_line(translation: Translation, *, as_json: bool) -> str:
    return (json.dumps(as_record(translation), ensure_ascii=False) if as_json else translation.text) + "\n"


def as_paragraph(line: TranslatedLine, *, as_json: bool) -> str:
    return (json.dumps(as_paragraph_record(line), ensure_ascii=False) if as_json else line.text) + "\n"


def as_record(translation: Translation) -> dict[str, object]:
    """What --json prints for a line."""
    return {
        "source": translation.source,
        "text": translation.text,
        "score": finite(translation.score),
        "cut": translation.cut,
        "alternatives": [{**one._asdict(), "score": finite(one.score)} for one in translation.alternatives],
    }


def as_paragraph_record(line: TranslatedLine) -> dict[str, object]:
    """What --json prints for a line of any number of sentences."""
    return {"source": line.source, "text": line.text, "sentences": [as_record(one) for one in line.sentences]}


def finite(score: float) -> float | None:
    """JSON has no infinity: the score of an output that cannot be is null."""
    return score if isfinite(score) else None
