"""Translations to a file or to standard output, as they come."""

import json
import sys
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import TextIO

from weft.core.errors import UserError
from weft.data.lines import read_lines
from weft.engine.translator import Translation, Translator


def write_translations(translator: Translator, source: Path | None, output: Path | None, *, as_json: bool) -> None:
    """A line out for each line in; lines that had to be cut are told at the end, on standard error."""
    if source is None and sys.stdin.isatty():  # a person types and wants each answer at once
        translator = replace(translator, settings=replace(translator.settings, window=1))
    translations = translator.stream(read_lines(source) if source else standard_input())
    if output is None:
        cut = write(translations, sys.stdout, as_json=as_json)
    else:
        try:
            with output.open("w", encoding="utf-8", newline="\n") as file:
                cut = write(translations, file, as_json=as_json)
        except OSError as error:
            raise UserError(f"{output} cannot be written: {error.strerror}") from error
    if cut:
        shown = ", ".join(map(str, cut[:10])) + (" ..." if len(cut) > 10 else "")
        limit = translator.source_limit()
        print(f"weft: {len(cut)} lines were longer than {limit} pieces and were cut there: {shown}", file=sys.stderr)


def write(translations: Iterable[Translation], file: TextIO, *, as_json: bool) -> list[int]:
    """Write each as it comes; returns the numbers of the lines that were cut, counted from 1."""
    cut = []
    for number, translation in enumerate(translations, 1):
        line = json.dumps(as_record(translation), ensure_ascii=False) if as_json else translation.text
        file.write(line + "\n")
        file.flush()
        if translation.cut:
            cut.append(number)
    return cut


def as_record(translation: Translation) -> dict[str, object]:
    """What --json prints for a line."""
    return {
        "source": translation.source,
        "text": translation.text,
        "score": translation.score,
        "cut": translation.cut,
        "alternatives": [alternative._asdict() for alternative in translation.alternatives],
    }


def standard_input() -> Iterator[str]:
    """Lines of standard input; a line that is not UTF-8 is told with its number."""
    for number, line in enumerate(sys.stdin.buffer, 1):
        try:
            yield line.decode("utf-8").removesuffix("\n").removesuffix("\r")
        except UnicodeDecodeError as error:
            raise UserError(f"standard input, line {number}: not UTF-8 (byte {error.start + 1} of the line).") from None
