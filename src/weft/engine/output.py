"""Translations to a file or to standard output, as they come."""

import json
import sys
from collections.abc import Sequence
from dataclasses import replace
from math import isfinite
from pathlib import Path
from typing import BinaryIO

from weft.data.lines import decoded, read_lines
from weft.engine.translator import Translation, Translator
from weft.store.files import write_atomically


def write_translations(translator: Translator, source: Path | None, output: Path | None, *, as_json: bool) -> None:
    """A line out for each line in; lines that had to be cut are told at the end, on standard error."""
    if source is None and sys.stdin.isatty():  # a person types and wants each answer at once
        translator = replace(translator, settings=replace(translator.settings, window=1))
    lines = decoded(sys.stdin.buffer, "standard input") if source is None else read_lines(source)
    cut: list[int] = []

    def write(file: BinaryIO) -> None:
        for number, translation in enumerate(translator.stream(lines), 1):
            file.write(as_line(translation, as_json=as_json).encode())
            file.flush()
            if translation.cut:
                cut.append(number)

    if output is None:
        write(sys.stdout.buffer)
    else:
        write_atomically(output, write)
    tell_cut(cut, translator.source_limit())


def tell_cut(cut: Sequence[int], limit: int) -> None:
    """Say which lines, counted from 1, were longer than the model reads."""
    if cut:
        shown = ", ".join(map(str, cut[:10])) + (" ..." if len(cut) > 10 else "")
        print(f"weft: {len(cut)} lines were longer than {limit} pieces and were cut there: {shown}", file=sys.stderr)


def as_line(translation: Translation, *, as_json: bool) -> str:
    return (json.dumps(as_record(translation), ensure_ascii=False) if as_json else translation.text) + "\n"


def as_record(translation: Translation) -> dict[str, object]:
    """What --json prints for a line."""
    return {
        "source": translation.source,
        "text": translation.text,
        "score": finite(translation.score),
        "cut": translation.cut,
        "alternatives": [{**one._asdict(), "score": finite(one.score)} for one in translation.alternatives],
    }


def finite(score: float) -> float | None:
    """JSON has no infinity: the score of an output that cannot be is null."""
    return score if isfinite(score) else None
