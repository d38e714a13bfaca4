"""Scores of a model's translations, or of a file of them."""

from collections.abc import Sequence
from itertools import chain
from pathlib import Path
from typing import BinaryIO, NamedTuple

from weft.core.errors import UserError
from weft.data.lines import read_lines
from weft.engine.named import named_in
from weft.engine.output import as_line, tell_cut
from weft.engine.translator import Translation, Translator
from weft.metric.evaluate import check_metrics, evaluate
from weft.metric.lines import Options
from weft.metric.score import Score
from weft.store.files import write_atomically


class Examples(NamedTuple):
    """Lines to translate and, for each of them, its references; and the file that the lines stand in."""

    sources: list[str]
    references: list[tuple[str, ...]]
    file: Path


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
    return evaluate([translation.text for translation in translations], examples.references, metrics, options)


def sources_for(translator: Translator, examples: Examples) -> list[str]:
    """The lines; or the pictures that they name."""
    pictures = translator.trained.source_tokenizer.reads == "pictures"
    return list(named_in(examples.file, examples.sources)) if pictures else examples.sources


def evaluate_file(
    translations: Path, references: Sequence[Path], metrics: Sequence[str], options: Options
) -> list[Score]:
    """Score a file of translations."""
    lines = list(read_lines(translations))
    return evaluate(lines, read_references(references, len(lines), translations), metrics, options)


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


def read_references(paths: Sequence[Path], wanted: int, beside: Path) -> list[tuple[str, ...]]:
    """For each line its references, from every file; each file must have as many lines as `beside`."""
    if not wanted:
        raise UserError(f"{beside}: is empty, so there are no lines to evaluate")
    columns = [references_in(path) for path in paths]
    for path, column in zip(paths, columns, strict=True):
        if len(column) != wanted:
            raise UserError(f"{path} has {len(column)} lines, {beside} has {wanted}: they must be equal, line by line.")
    return [tuple(chain.from_iterable(rows)) for rows in zip(*columns, strict=True)]


def references_in(path: Path) -> list[tuple[str, ...]]:
    """The references of each line: the line itself, or in a .tsv all its columns but the first."""
    return read_table(path).references if is_table(path) else [(line,) for line in read_lines(path)]


def is_table(path: Path) -> bool:
    return path.name.removesuffix(".gz").endswith(".tsv")


def read_table(path: Path) -> Examples:
    """On each line the source and then its references, as many as it has, with tabs between.

    Empty columns are passed over, since a spreadsheet fills its rows up with them; but a line keeps one reference.
    """
    examples = Examples([], [], path)
    for number, line in enumerate(read_lines(path), start=1):
        source, *references = line.split("\t")
        if not references:
            raise UserError(f"{path}, line {number}: wanted source and references with tabs between, got no tab")
        examples.sources.append(source)
        examples.references.append(tuple(filter(None, references)) or ("",))
    if not examples.sources:
        raise UserError(f"{path}: is empty, so there are no lines to evaluate")
    return examples
