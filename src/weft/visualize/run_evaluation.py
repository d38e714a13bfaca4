"""Evaluate the best model of a run for its report: scores on held-out lines, scores by length, perplexity of language
models, and attention or frame posteriors of a few sentences.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal, NamedTuple

import numpy as np

from weft.checkpoints.model_folder import folder_fingerprint
from weft.checkpoints.trained_model import TrainedModel
from weft.config.recipe import ValidationConfig
from weft.config.serialization import to_dict
from weft.core.errors import UserError
from weft.core.progress_bar import track_progress
from weft.core.setting_types import Factory
from weft.decoding.search import FrameDecoder, Search
from weft.inference.language_model import count_units, perplexity_scores, sampling_completer
from weft.inference.loader import load_translator
from weft.inference.scoring import ScoredPair, Scorer, perplexity
from weft.inference.translator import Translator
from weft.metrics.comparison import (
    Comparison,
    ComparisonSettings,
    ScoreBucket,
    SentenceScores,
    bucket_labels,
    compare_systems,
    count_words,
    quantile_starts,
    scores_by_length,
)
from weft.metrics.corpus_metrics import METRICS, language_options, metric_statistics
from weft.metrics.references import ComparisonData, SystemOutput
from weft.metrics.scores import MetricScore
from weft.visualize.attention_weights import AttentionMap, attention_map
from weft.visualize.frame_posteriors import FramePosteriors, frame_posteriors
from weft.visualize.run_summary import HeldOutLines, RunSummary, read_held_out_lines, read_training_lines, typical_pairs

DEFAULT_METRICS = ("bleu", "chrf")  # if the recipe names none
SENTENCE_METRIC = "chrf"
PROMPT_COUNT, PROMPT_WORDS, PROMPT_CHARACTERS = 5, 2, 3  # characters if a line is a single word
LOAD_ATTEMPTS = 3  # for a model that is replaced while it is read
TRAINING_SAMPLE_LINES = 1000  # training lines from which examples are taken if nothing is held out


@dataclass(frozen=True)
class ReportOptions:
    """test: evaluate on the test data; sentences: number of examples of each kind."""

    test: bool = False
    max_lines: int = 1000
    sentences: int = 4
    device: str = "auto"


class TranslationEvaluation(NamedTuple):
    """Translations of held-out lines and their scores. lengths: scores by the length of lines, after their title."""

    held_out: HeldOutLines
    comparison: Comparison
    sentences: SentenceScores
    lengths: tuple[str, list[ScoreBucket]]
    truncated: int  # lines longer than the model reads
    search: str
    validation_note: str  # how validation during training differed; empty if it did not


class LanguageModelEvaluation(NamedTuple):
    """Probabilities of held-out lines. lengths: as above. left_out: lines longer than the model reads."""

    held_out: HeldOutLines
    scores: list[MetricScore]
    lines: list[ScoredPair]
    lengths: tuple[str, list[ScoreBucket]]
    completions: list[tuple[str, str]]  # of prompts
    left_out: int


class ModelInspection(NamedTuple):
    """Attention or frame posteriors of a few sentences; or `obstacle`, the reason why there are none."""

    kind: Literal["attention", "frames"]
    views: Sequence[AttentionMap | FramePosteriors]
    obstacle: str = ""


@dataclass(frozen=True)
class ReportData:
    """A run and what its best model does. not_scored: why there are no scores."""

    run: RunSummary
    options: ReportOptions
    trained: TrainedModel | None = None
    translation: TranslationEvaluation | None = None
    language_model: LanguageModelEvaluation | None = None
    inspection: ModelInspection | None = None
    not_scored: str = ""
    shows_training_data: bool = False  # the inspected sentences are training data


def collect_report_data(run: RunSummary, options: ReportOptions) -> ReportData:
    """Evaluate and inspect the best model of a run, if there is one and there is data for it."""
    report = ReportData(run, options)
    if run.model is None:
        settings = run.recipe.train
        first = min(settings.validation.every, settings.steps or settings.validation.every)
        return replace(report, not_scored=f"there is no model yet; the first is saved at step {first:,}")
    translator = load_stable_model(run.folder.path, options.device)
    report = replace(report, trained=translator.trained)
    try:
        held_out = read_held_out_lines(run, "test" if options.test else "valid", options.max_lines)
        if held_out is not None:
            return _evaluate_held_out_lines(report, translator, held_out)
        reason = "nothing is held out for validation (data.valid, data.validation_fraction)"
    except UserError as error:
        if options.test:
            raise
        reason = str(error)
    return _inspect_training_lines(report, translator, reason)


def load_stable_model(path: Path, device: str) -> Translator:
    """Load the model of a run that may save a better one at the same time."""
    for _ in range(LOAD_ATTEMPTS - 1):
        before = folder_fingerprint(path)
        try:
            return load_translator(path, device=device, allow_language_model=True)
        except (UserError, OSError):
            if folder_fingerprint(path) == before:
                raise
    return load_translator(path, device=device, allow_language_model=True)


def _evaluate_held_out_lines(report: ReportData, translator: Translator, held_out: HeldOutLines) -> ReportData:
    trained = translator.trained
    if trained.model.is_language_model:
        return replace(report, language_model=evaluate_language_model(trained, held_out))
    name = "best model" if trained.metrics.get("validation") else "last model"
    lines = [source for source, _ in typical_pairs(held_out.pairs, report.options.sentences)]
    evaluation = evaluate_translations(translator, report.run.recipe.train.validation, held_out, name)
    return replace(report, translation=evaluation, inspection=inspect_model(translator, lines))


def _inspect_training_lines(report: ReportData, translator: Translator, reason: str) -> ReportData:
    """Inspect the model with training data, since `reason` prevents an evaluation."""
    if translator.trained.model.is_language_model:
        return replace(report, not_scored=reason)
    pairs = typical_pairs(read_training_lines(report.run, TRAINING_SAMPLE_LINES), report.options.sentences)
    inspection = inspect_model(translator, [source for source, _ in pairs])
    return replace(report, not_scored=reason, inspection=inspection, shows_training_data=True)


def evaluate_translations(
    translator: Translator, validation: ValidationConfig, held_out: HeldOutLines, name: str
) -> TranslationEvaluation:
    """Translate the lines and score the translations; `name` is the name of the system in the report."""
    settings, model = translator.trained.recipe.translate, translator.trained.model
    sources, references = [source for source, _ in held_out.pairs], [[target] for _, target in held_out.pairs]
    translations = list(track_progress(translator.for_text(split=False).stream(sources), "translating", len(sources)))
    outputs = SystemOutput(name, [translation.text for translation in translations])
    best_metric = [validation.best_metric] if validation.best_metric in METRICS else []
    metrics = tuple(dict.fromkeys([*best_metric, *validation.metrics])) or DEFAULT_METRICS
    comparison_settings = ComparisonSettings(metrics, language_options(translator.trained.recipe.data.languages))
    comparison = compare_systems(ComparisonData([outputs], references, sources), comparison_settings)
    search = "minimum Bayes risk"
    if settings.mbr.samples == 0:
        search = _describe_search(settings.search if model.has_decoder else settings.frame_decoder)
    earlier = _describe_search(validation.search if model.has_decoder else validation.frame_decoder)
    note = f"Validation during training: at most the first {validation.lines:,} lines; search: {earlier}."
    is_same = search == earlier and len(held_out.pairs) == validation.lines and held_out.split == "valid"
    return TranslationEvaluation(
        held_out,
        comparison,
        comparison.sentence_scores(SENTENCE_METRIC),
        _length_breakdown(comparison, reads_images=translator.trained.source_tokenizer.modality == "image"),
        sum(translation.truncated for translation in translations),
        search,
        note if validation.lines and not is_same else "",
    )


def _describe_search(factory: Factory[Search] | Factory[FrameDecoder]) -> str:
    node = to_dict(factory)
    return f"{node['type']} of {node['size']}" if "size" in node else str(node["type"])


def _length_breakdown(comparison: Comparison, *, reads_images: bool) -> tuple[str, list[ScoreBucket]]:
    """Score by the length of the source (of the reference, if sources are images), in words.

    If lines are single words, lengths are in characters.
    """
    data, metric = comparison.data, comparison.main_metric
    references = [row[0] for row in data.references]
    side, lines = ("reference", references) if reads_images else ("source", list(data.sources or references))
    words = count_words(lines)
    unit, lengths = ("words", words) if sum(words) > 2 * len(words) else ("characters", [len(line) for line in lines])
    statistics = [
        metric_statistics(segments, [metric], comparison.settings.options)[metric] for segments in data.segments()
    ]
    title = f"{metric} by the length of the {side}, in {unit}"
    return title, scores_by_length(statistics, lengths, quantile_starts(lengths))


def evaluate_language_model(trained: TrainedModel, held_out: HeldOutLines) -> LanguageModelEvaluation:
    """Score the lines that fit into the model's positions; raise UserError if none does."""
    limit = trained.max_target_length
    texts = [target for _, target in held_out.pairs]
    rows = trained.target_tokenizer.encode(texts)
    fitting = [number for number, row in enumerate(rows) if limit is None or len(row) <= limit]
    if not fitting:
        raise UserError(f"every line has more tokens than the model reads ({limit})")
    scored = Scorer(trained).stream(("", texts[number]) for number in fitting)
    lines = list(track_progress(scored, "scoring", len(fitting)))
    targets = [line.target for line in lines]
    counts = Counter(count_units(targets, [rows[number] for number in fitting], trained.target_tokenizer))
    return LanguageModelEvaluation(
        held_out,
        perplexity_scores(-sum(line.score for line in lines), counts),
        lines,
        ("perplexity per token by the length of the line, in tokens", _perplexity_by_length(lines)),
        _sample_completions(trained, targets),
        len(texts) - len(fitting),
    )


def _perplexity_by_length(lines: Sequence[ScoredPair]) -> list[ScoreBucket]:
    lengths = np.array([len(line.tokens) for line in lines])
    starts = quantile_starts(lengths.tolist())
    indices = np.searchsorted(starts, lengths, side="right") - 1
    buckets = []
    for number, label in enumerate(bucket_labels(starts)):
        inside = [line for line, index in zip(lines, indices, strict=True) if index == number]
        if inside:
            value = perplexity(sum(line.score for line in inside), sum(len(line.tokens) for line in inside))
            buckets.append(ScoreBucket(label, len(inside), (value,)))
    return buckets


def _sample_completions(trained: TrainedModel, lines: Sequence[str]) -> list[tuple[str, str]]:
    """Complete the beginnings of the first lines; none if the model writes backward."""
    if trained.target_tokenizer.order != "forward":
        return []
    prompts = []
    for line in lines:
        words = line.split()
        prompts.append(" ".join(words[:PROMPT_WORDS]) if len(words) > PROMPT_WORDS else line[:PROMPT_CHARACTERS])
    prompts = list(dict.fromkeys(filter(str.strip, prompts)))[:PROMPT_COUNT]
    completer = sampling_completer(trained, 1, temperature=1.0, seed=1)
    return [(prompt, completer.complete(prompt, number)[0]) for number, prompt in enumerate(prompts, start=1)]


def inspect_model(translator: Translator, lines: Sequence[str]) -> ModelInspection:
    """Return the attention of a decoder or the posteriors of a frame head for each line."""
    kind: Literal["attention", "frames"] = "attention" if translator.trained.model.has_decoder else "frames"
    if not lines:
        return ModelInspection(kind, [], obstacle="there are no lines")
    inspect = attention_map if kind == "attention" else frame_posteriors
    try:
        return ModelInspection(kind, [inspect(translator, line) for line in lines])
    except UserError as error:
        return ModelInspection(kind, [], obstacle=str(error))
