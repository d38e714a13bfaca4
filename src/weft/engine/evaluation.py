"""Scores of a model's translations, or of a file of them."""

from collections.abc import Sequence
from pathlib import Path
from typing import BinaryIO

from weft.core.errors import UserError
from weft.data.lines import read_lines
from weft.engine.named import named_in
from weft.engine.output import tell_cut
from weft.engine.records import as_line
from weft.engine.translation import Translation
from weft.engine.translator import Translator
from weft.metric.evaluate import check_metrics, evaluate_with_intervals
from weft.metric.examples import Examples, is_table, read_references, read_table, sources_beside
from weft.metric.lines import Lines, Options
from weft.metric.score import Score
from weft.store.files import write_atomically


def evaluate_model(
    translator: Translator, examples: Examples, metrics: Sequence[str], options: Options, output: Path | None
) -> list[Score]:
    """Translate the sources and score them; the translations are kept in `output` if one is given."""
    check_metrics(metrics, options)
    sources = sources_for(translator, examples)
    translations: list[Translation] = []

    def translate(file: BinaryIO) -> None:
        for translation in translator.stream(sources):
            translations.append(translation)
            file.write(as_line(translation, as_json=False).encode())

    if output is None:
        translations = translator.translate(sources)
    else:
        write_atomically(output, translate)  # which tells a place that cannot be written before the work
    tell_cut([number for number, one in enumerate(translations, 1) if one.cut], translator)
    outputs = [translation.text for translation in translations]
    return evaluate_with_intervals(Lines(outputs, examples.references, examples.sources), metrics, options)


def sources_for(translator: Translator, examples: Examples) -> list[str]:
    """The lines; or the pictures that they name."""
    pictures = translator.trained.source_tokenizer.reads == "pictures"
    return list(named_in(examples.file, examples.sources)) if pictures else examples.sources


def evaluate_file(
    translations: Path, references: Sequence[Path], metrics: Sequence[str], options: Options
) -> list[Score]:
    """Score a file of translations."""
    lines = list(read_lines(translations))
    rows = read_references(references, len(lines), translations)
    return evaluate_with_intervals(Lines(lines, rows, sources_beside(references)), metrics, options)


def read_examples(files: Sequence[Path]) -> Examples:
    """One .tsv, whose columns are the source and its references; or a source file and files of references."""
    source, *references = files
    if is_table(source) and references:
        raise UserError(f"{source} holds its own references, in its columns: leave out {references[0]}.")
    if is_table(source):
        return read_table(source)
    if not references:
        raise UserError(no_references(source))
    sources = list(read_lines(source))
    return Examples(sources, read_references(references, len(sources), source), source)


def no_references(source: Path) -> str:
    return (
        f"{source} is a source without references. Add files of references, or give one .tsv with both: "
        "weft evaluate MODEL SOURCE REFERENCE... or weft evaluate MODEL TEST.tsv"
    )
