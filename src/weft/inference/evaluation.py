"""Metric scores of a model's translations or of a file, and calibration of confidence on lines with references."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from weft.checkpoints.model_folder import save_calibration
from weft.core.errors import UserError
from weft.core.progress_bar import track_progress
from weft.data.text_files import read_lines
from weft.inference.translation import Translation
from weft.inference.translation_io import image_paths, report_truncated, write_lines
from weft.inference.translator import Translator
from weft.metrics.calibration import CalibrationResult, fit_calibration
from weft.metrics.corpus_metrics import check_metrics, evaluate_with_intervals
from weft.metrics.references import EvaluationSet, is_tsv, read_references, read_tsv, read_tsv_sources
from weft.metrics.scores import MetricOptions, MetricScore, Segments
from weft.metrics.sentence_metrics import sentence_cost


def evaluate_model(
    translator: Translator, examples: EvaluationSet, metrics: Sequence[str], options: MetricOptions, output: Path | None
) -> list[MetricScore]:
    """Translate the sources and score the translations, which are also written to `output` if it is given."""
    check_metrics(metrics, options)
    outputs: list[str] = []

    def lines() -> Iterator[str]:
        for translation in translate_examples(translator, examples, "translating"):
            outputs.append(translation.text)
            yield f"{translation.text}\n"

    if output is None:
        for _ in lines():
            pass
    else:
        write_lines(lines(), output)  # raises an error before the work if the file cannot be written
    return evaluate_with_intervals(Segments(outputs, examples.references, examples.sources), metrics, options)


def translate_examples(translator: Translator, examples: EvaluationSet, label: str) -> Iterator[Translation]:
    """Translate the sources with a progress bar; then report those that were truncated."""
    sources, truncated = example_sources(translator, examples), list[int]()
    for number, translation in enumerate(
        track_progress(translator.for_text(split=False).stream(sources), label, len(sources)), start=1
    ):
        if translation.truncated:
            truncated.append(number)
        yield translation
    report_truncated(truncated, translator.max_source_length(), translator.source_codec)


def example_sources(translator: Translator, examples: EvaluationSet) -> list[str]:
    """The source lines, or the paths of the images that they name."""
    is_text = translator.source_codec.modality == "text"
    return examples.sources if is_text else list(image_paths(examples.file, examples.sources))


def evaluate_file(
    translations: Path, references: Sequence[Path], metrics: Sequence[str], options: MetricOptions
) -> list[MetricScore]:
    """Score a file of translations."""
    lines = list(read_lines(translations))
    rows = read_references(references, len(lines), translations)
    return evaluate_with_intervals(Segments(lines, rows, read_tsv_sources(references)), metrics, options)


def read_examples(files: Sequence[Path]) -> EvaluationSet:
    """One .tsv, whose columns are the source and its references; or a source file and reference files."""
    source, *references = files
    if is_tsv(source) and references:
        raise UserError(f"{source} has its own references, in its columns: omit {references[0]}.")
    if is_tsv(source):
        return read_tsv(source)
    if not references:
        raise UserError(missing_references_message(source))
    sources = list(read_lines(source))
    return EvaluationSet(sources, read_references(references, len(sources), source), source)


def missing_references_message(source: Path) -> str:
    return (
        f"{source} is a source without references. Add reference files, or give one .tsv with both: "
        "weft evaluate MODEL SOURCE REFERENCE... or weft evaluate MODEL TEST.tsv"
    )


@dataclass(frozen=True)
class QualityCriterion:
    """A translation is good if its chrF (0 to 100) is at least `chrf`; None: if it equals the reference."""

    chrf: float | None

    def __call__(self, texts: Sequence[str], references: Sequence[Sequence[str]]) -> list[bool]:
        """Whether each text is good, compared with the best of its references."""
        if self.chrf is None:
            cost, max_cost = sentence_cost("exact"), 0.0
        else:
            cost, max_cost = sentence_cost("chrf"), 1 - self.chrf / 100
        pairs = zip(texts, references, strict=True)
        return [min(cost(text, reference) for reference in row) <= max_cost + 1e-9 for text, row in pairs]

    def __str__(self) -> str:
        return "as the reference" if self.chrf is None else f"chrF {self.chrf:g} or more"


def calibrate_model(
    translator: Translator, folder: Path, files: Sequence[Path], good: QualityCriterion
) -> CalibrationResult:
    """Translate the sources, compare with the references, and add the calibration to the model folder."""
    examples = read_examples(files)
    sources = example_sources(translator, examples)
    translations = list(track_progress(translator.for_text(split=False).stream(sources), "translating", len(sources)))
    usable = [row for row, one in enumerate(translations) if one.alternatives[0].tokens]  # not blank, not failed
    outputs = [translations[row].alternatives[0] for row in usable]
    are_good = good([output.text for output in outputs], [examples.references[row] for row in usable])
    if are_good and len(set(are_good)) == 1:
        which = "all" if are_good[0] else "none"
        raise UserError(
            f"{which} of the {len(usable)} translations are good ({good}), so nothing can be learned from their scores"
            ": set another --min-chrf, or use other lines"
        )
    result = fit_calibration([(output.score, len(output.token_scores)) for output in outputs], are_good)
    save_calibration(folder, result, str(good))
    return result


def format_calibration(result: CalibrationResult, good: QualityCriterion) -> str:
    """The calibration error and the bins as a table."""
    first = f"{result.lines:,} lines, {result.good:.1%} of them good ({good})"
    second = f"calibration error {result.error:.4f} (by cross-validation, five folds)"
    rows = [f"{one.lines:>7,}  {one.confidence:>10.2f}  {one.good:>4.2f}" for one in result.bins]
    return "\n".join([first, second, "", "  lines  confidence  good", *rows])
