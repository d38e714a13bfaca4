"""Scores of a model's translations, or of a file of them."""

from collections.abc import Sequence
from pathlib import Path
from typing import BinaryIO

from weft.core.errors import UserError
from weft.data.lines import read_lines
from weft.engine.output import as_line, tell_cut
from weft.engine.translator import Translation, Translator
from weft.metric.evaluate import check_metrics, evaluate
from weft.metric.lines import Options
from weft.metric.score import Score
from weft.store.files import write_atomically


def evaluate_model(
    translator: Translator,
    source: Path,
    references: Sequence[Path],
    metrics: Sequence[str],
    options: Options,
    output: Path | None,
) -> list[Score]:
    """Translate the source file and score it; the translations are kept in `output` if one is given."""
    sources = list(read_lines(source))
    beside = read_references(references, len(sources), source)
    check_metrics(metrics, options)
    translations: list[Translation] = []

    def translate(file: BinaryIO) -> None:
        for translation in translator.stream(sources):
            translations.append(translation)
            file.write(as_line(translation, as_json=False).encode())

    if output is None:
        translations = translator.translate(sources)
    else:
        write_atomically(output, translate)  # which tells a place that cannot be written before the work
    tell_cut([number for number, one in enumerate(translations, 1) if one.cut], translator.source_limit())
    return evaluate([translation.text for translation in translations], beside, metrics, options)


def evaluate_file(
    translations: Path, references: Sequence[Path], metrics: Sequence[str], options: Options
) -> list[Score]:
    """Score a file of translations."""
    lines = list(read_lines(translations))
    return evaluate(lines, read_references(references, len(lines), translations), metrics, options)


def read_references(paths: Sequence[Path], wanted: int, beside: Path) -> list[tuple[str, ...]]:
    """For each line its references, one from each file; every file must have as many lines as `beside`."""
    if not wanted:
        raise UserError(f"{beside}: is empty, so there are no lines to evaluate")
    columns = [list(read_lines(path)) for path in paths]
    for path, column in zip(paths, columns, strict=True):
        if len(column) != wanted:
            raise UserError(f"{path} has {len(column)} lines, {beside} has {wanted}: they must be equal, line by line.")
    return list(zip(*columns, strict=True))
