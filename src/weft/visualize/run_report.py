"""The HTML report of a training run (`weft report`): prepares the values of templates/run_report.html.jinja."""

from __future__ import annotations

import base64
import io
import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict
from importlib.metadata import version
from math import log
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any, TypeAlias

from numpy.typing import NDArray

from weft.checkpoints.run_log import curve_points
from weft.checkpoints.trained_model import TrainedModel
from weft.config.serialization import non_default_settings, to_dict
from weft.config.yaml_files import dump_yaml_inline
from weft.core.errors import UserError
from weft.core.extras import require_extra
from weft.core.files import check_output_file
from weft.core.formatting import format_duration, pluralize
from weft.core.templates import render_template, write_page
from weft.data.data_report import data_report_rows
from weft.data.languages import language_pair
from weft.inference.model_summary import slot_sizes, vocabulary_summary
from weft.inference.scoring import ScoredPair
from weft.metrics.scores import MetricScore
from weft.models.model import count_parameters
from weft.text.tokenizer import SPACE_SYMBOL, is_tokenizer
from weft.training.finetuning import comparison_row
from weft.training.finetuning_recipe import format_mix
from weft.visualize.attention_weights import AttentionMap
from weft.visualize.comparison_page import score_rows
from weft.visualize.frame_posteriors import FramePosteriors
from weft.visualize.heatmap import cell_colors, heatmap_svg
from weft.visualize.report_curves import StepAxis, chart_svg, format_value, training_charts, validation_table
from weft.visualize.run_evaluation import (
    LanguageModelEvaluation,
    ReportData,
    ReportOptions,
    TranslationEvaluation,
    collect_report_data,
)
from weft.visualize.run_summary import (
    SPLIT_LABELS,
    DistillationScores,
    FinetuningScores,
    RunSummary,
    check_test_data,
    read_run_summary,
    report_inputs,
    run_origin,
    typical_pairs,
)
from weft.visualize.sentence_examples import (
    SentenceExample,
    best_lines,
    median_lines,
    sentence_examples,
    sentence_histories,
    worst_lines,
)

if TYPE_CHECKING:
    from matplotlib.colors import Colormap

SettingLine: TypeAlias = tuple[tuple[str, ...], str, bool]  # path, value ("" above nested lines), and is it changed

MAX_SURPRISAL = 8.0  # bits, shown in full color
MAX_NARROW_COLUMNS = 16  # of a heat map; two such fit side by side


def report_run(folder: Path, output: Path, options: ReportOptions) -> RunSummary:
    """Write the report of the run in a folder; raise UserError if it has no test data but that was requested."""
    summary = read_run_summary(folder)
    if options.test:
        check_test_data(summary)
    check_output_file(output, report_inputs(summary))
    write_run_report(summary, output, options)
    return summary


def write_run_report(run: RunSummary, path: Path, options: ReportOptions) -> ReportData:
    """Evaluate the run and write its report; raise UserError before the evaluation if the path cannot be written."""
    require_extra("plots", "weft report")
    return write_page(path, lambda: collect_report_data(run, options), run_report_page)


def run_report_page(report: ReportData) -> str:
    run, histories = report.run, sentence_histories(report.run.history)
    origin, finetuning, distillation = run_origin(run)
    translation, language_model, count = report.translation, report.language_model, report.options.sentences
    examples = [] if translation is None else _example_groups(translation, count)
    sources = {source for source, _, _ in histories} | {line.source for _, lines in examples for line in lines}
    return render_template(
        "weft.visualize",
        "run_report.html.jinja",
        contents=[],
        report=report,
        title=f"{run.name}: a training run",
        name=run.name,
        about="; ".join(filter(None, [_architecture(run), run.describe_status(), origin])),
        tiles=list(_tiles(report)),
        scores=[] if translation is None else score_rows(translation.comparison),
        **({} if language_model is None else _language_model_values(language_model, count)),
        run_path=shlex.quote(str(run.folder.path)),
        **_curve_section(report),
        finetuning=None if finetuning is None else _finetuning_section(finetuning),
        distillation=None if distillation is None else _distillation_section(distillation),
        examples=examples,
        histories=histories,
        images=_source_images(report.trained, filter(None, sources)),
        is_language_model=report.trained is not None and report.trained.model.is_language_model,
        **_inspection_section([] if report.inspection is None else report.inspection.views),
        **_data_section(report),
        slots=[
            (name, kind, f"{parameters:,}")
            for name, kind, parameters in (slot_sizes(report.trained.model) if report.trained is not None else [])
            if parameters
        ],
        settings=list(_settings_groups(run)),
        version=version("weft"),
    )


def _architecture(run: RunSummary) -> str:
    """Describe languages and model."""
    node = to_dict(run.recipe)
    types = {slot: (node["model"][slot] or {"type": "none"})["type"] for slot in ("encoder", "decoder", "frame_head")}
    parts = ", ".join(f"{kind} {slot.replace('_', ' ')}" for slot, kind in types.items() if kind != "none")
    if types["encoder"] == "none":
        return f"A language model: {parts}"
    languages = language_pair(run.recipe.data.languages)
    names = "" if languages is None else languages.describe()
    return "; ".join(filter(None, [names, f"{parts[:1].upper()}{parts[1:]}"]))


def _tiles(report: ReportData) -> Iterator[tuple[str, str, str]]:
    """Yield the label, the figure and a note for each figure at the top of the page."""
    run, best = report.run, report.run.best
    if best is not None:
        yield f"Best {best.name}", f"{best.value:.2f}", f"in validation, at step {best.step:,}"
    yield "Steps", f"{run.step:,}", "as planned" if run.status == "finished" else f"of {run.planned_length}"
    for _, seconds in curve_points(run.history.reports[-1:], "seconds"):
        yield "Time", format_duration(seconds), "of training and validation"
    speeds = [value for _, value in curve_points(run.history.reports, "tokens_per_second")]
    if speeds:
        yield "Speed", f"{median(speeds):,.0f}", "target tokens per second, median"
    if report.trained is not None:
        yield "Parameters", _format_count(count_parameters(report.trained.model)), "weights of the model"
    train = run.data_report.splits[0]
    unit = "lines" if run.data_report.monolingual else "pairs"
    yield f"Training {unit}", _format_count(train.pairs_kept), f"of {train.pairs_read:,} in the data"


def _format_count(count: int) -> str:
    return f"{count / 1e6:.1f} M" if count >= 1e6 else f"{count:,}"


def _example_groups(evaluation: TranslationEvaluation, count: int) -> list[tuple[str, list[SentenceExample]]]:
    comparison, scores = evaluation.comparison, evaluation.sentences
    return [
        (heading, sentence_examples(comparison, scores, select(scores, count)))
        for heading, select in (("Worst", worst_lines), ("Median", median_lines), ("Best", best_lines))
    ]


def _language_model_values(evaluation: LanguageModelEvaluation, count: int) -> dict[str, object]:
    order = sorted(evaluation.lines, key=lambda line: -line.perplexity)
    groups = (("Highest perplexity", order[:count]), ("Lowest perplexity", order[::-1][:count]))
    completions = [
        (prompt, text.removeprefix(prompt)) if text.startswith(prompt) else ("", text)
        for prompt, text in evaluation.completions
    ]
    return {
        "perplexities": [(score.name, f"{score.value:.2f}", _format_signature(score)) for score in evaluation.scores],
        "surprisals": [
            (heading, [(f"{line.perplexity:,.1f}", _surprisals(line)) for line in lines]) for heading, lines in groups
        ],
        "completions": completions,
    }


def _format_signature(score: MetricScore) -> str:
    """tokens:12|unknown:3 % -> 12 tokens, unknown 3 %."""
    unit, *rest = score.signature.split("|")
    name, _, number = unit.partition(":")
    return ", ".join([f"{int(number):,} {name}", *(part.replace(":", " ") for part in rest)])


def _surprisals(line: ScoredPair) -> list[tuple[str, str, str, str]]:
    """Return for each token the space before it, its text, its share of the full color, and its surprisal in bits."""
    rows = []
    for token, score in zip(line.tokens, line.token_scores, strict=True):
        bits = -score / log(2)
        text = token.replace(SPACE_SYMBOL, " ").strip() or SPACE_SYMBOL
        space = " " if token.startswith(SPACE_SYMBOL) else ""
        rows.append((space, text, f"{min(1.0, bits / MAX_SURPRISAL):.2f}", f"{bits:.1f}"))
    return rows


def _curve_section(report: ReportData) -> dict[str, object]:
    history, best = report.run.history, report.run.best
    diagnosed = [finding["step"] for finding in history.findings if finding["step"]]
    steps = StepAxis(report.run.step, None if best is None else best.step, diagnosed)
    charts = [
        (
            chart.title,
            [(series.name, series.color, format_value(series.points[-1][1])) for series in chart.series],
            chart_svg(chart, steps),
        )
        for chart in training_charts(history, report.run.recipe.train.clip_norm)
    ]
    heads, rows = validation_table(history)
    return {"charts": charts, "validation_heads": heads, "validation_rows": rows}


def _finetuning_section(scores: FinetuningScores) -> dict[str, object]:
    headings = {"new": "On the new data", "original": "On the original data"}
    tables = []
    for name, after in scores.after.items():
        pairs = zip(scores.before.get(name, ()), after, strict=False)
        tables.append((headings.get(name, name), [comparison_row(asdict(old), asdict(new)) for old, new in pairs]))
    mixed = f"Mixed in: {format_mix(scores.mix)}." if scores.mix else "No original pairs were mixed in."
    return {"note": mixed, "tables": tables}


def _distillation_section(scores: DistillationScores) -> dict[str, object]:
    metrics = [score.name for score in scores.systems[0].scores] if scores.systems else []
    rows = [
        [
            system.model,
            system.search,
            system.backend,
            *(f"{score.value:.2f}" for score in system.scores),
            f"{scores.count / median(system.seconds):,.0f}",
            f"{system.weights_bytes / 1e6:.1f}",
            f"{system.speedup:.2f}",
        ]
        for system in scores.systems
    ]
    threads = pluralize(scores.threads, "thread")
    return {
        "heads": ["", "search", "backend", *metrics, "lines/s", "MB", "speed-up"],
        "rows": rows,
        "note": f"{scores.count:,} lines of {scores.lines}; {threads}; speeds are medians over alternating rounds.",
    }


def _source_images(trained: TrainedModel | None, names: Iterable[str]) -> dict[str, str]:
    """Return data URIs of source images, as the model reads them; none for text, and unreadable files are left out."""
    if trained is None or trained.source_tokenizer.modality == "text":
        return {}
    images = {}
    for name in names:
        try:
            [columns] = trained.source_tokenizer.encode_rows([name]).split()
        except UserError:
            continue
        images[name] = _png_data_uri(columns.T, "gray_r", 255)
    return images


def _png_data_uri(values: NDArray[Any], colors: Colormap | str, max_value: float) -> str:
    """Return an image with a pixel for each value."""
    from matplotlib.image import imsave

    file = io.BytesIO()
    imsave(file, values, vmin=0, vmax=max_value, cmap=colors, format="png", metadata={"Software": "weft"})
    return f"data:image/png;base64,{base64.b64encode(file.getvalue()).decode()}"


def _inspection_section(inspected: Sequence[AttentionMap | FramePosteriors]) -> dict[str, object]:
    views, heads = [], []
    for view in inspected:
        heatmap = view.heatmap()
        sentence = view.sentence if view.image is None else Path(view.sentence).name
        svg, is_wide = heatmap_svg(heatmap, view.image, view.spans), len(heatmap.columns) > MAX_NARROW_COLUMNS
        views.append((sentence, view.text, view.remarks, svg, is_wide))
    first = inspected[0] if inspected else None
    if isinstance(first, AttentionMap) and first.image is None and sum(map(len, first.layers)) > 1:
        heads = [
            (f"layer {layer}, head {number}", _png_data_uri(weights, cell_colors(), 1.0))
            for layer, row in enumerate(first.layers, 1)
            for number, weights in enumerate(row, 1)
        ]
    return {"views": views, "heads": heads}


def _data_section(report: ReportData) -> dict[str, object]:
    heads, *rows = data_report_rows(report.run.data_report)
    text = to_dict(report.run.recipe)["text"]
    sides = ["source and target"] if text["joint"] else ["source", "target"]
    tokenizers = [text["source"], text["target"] or text["source"]]
    return {
        "data_heads": heads,
        "data_rows": rows,
        "data_files": [
            (SPLIT_LABELS[split].removeprefix("the "), "; ".join(" and ".join(map(str, files)) for files in corpora))
            for split, corpora in report.run.recipe.data.files().items()
        ],
        "tokenizers": [(side, _describe_tokenizer(node)) for side, node in zip(sides, tokenizers, strict=False)],
        "vocabulary": "" if report.trained is None else vocabulary_summary(report.trained),
        "tokenized": [] if report.trained is None else _tokenized_pair(report, report.trained),
    }


def _describe_tokenizer(node: Mapping[str, Any]) -> str:
    """{"type": "bpe", "size": 4000} -> bpe, size 4000."""
    settings = (f"{name} {dump_yaml_inline(value)}" for name, value in node.items() if name != "type")
    return ", ".join([node["type"], *settings])


def _tokenized_pair(report: ReportData, trained: TrainedModel) -> list[list[str]]:
    """Return the tokens of a typical pair, without sides that are images or empty."""
    evaluation = report.translation or report.language_model
    return [
        tokenizer.tokens(tokenizer.encode([line])[0])
        for pair in typical_pairs([] if evaluation is None else evaluation.held_out.pairs, 1)
        for tokenizer, line in zip((trained.source_tokenizer, trained.target_tokenizer), pair, strict=True)
        if is_tokenizer(tokenizer) and line
    ]


def _settings_groups(run: RunSummary) -> Iterator[tuple[str, str, list[SettingLine]]]:
    """Yield the name, the changed settings and all lines of each part of the recipe."""
    changed = non_default_settings(run.recipe)
    for name, node in to_dict(run.recipe).items():
        lines = list(_setting_lines(node, (name,), changed))
        changes = (
            f"{'.'.join(path[1:]).removesuffix('.type')} {value}" for path, value, is_changed in lines if is_changed
        )
        yield name, ", ".join(changes), lines


def _setting_lines(node: Mapping[str, Any], parents: tuple[str, ...], changed: set[str]) -> Iterator[SettingLine]:
    for key, value in node.items():
        path = (*parents, key)
        if isinstance(value, dict):
            yield path, "", False
            yield from _setting_lines(value, path, changed)
        else:
            yield path, dump_yaml_inline(value), ".".join(path) in changed
