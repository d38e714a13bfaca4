"""Fine-tune a trained model on new data: prepare the folder, train, and compare scores before and after on new and
original data.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

from weft.checkpoints.file_formats import write_json
from weft.checkpoints.model_folder import model_fingerprint
from weft.checkpoints.run_origin import locate_data
from weft.checkpoints.trained_model import TrainedModel, load_model, load_model_config, load_model_recipe
from weft.data.corpus import Corpus
from weft.inference.language_model import count_units, negative_log_likelihood, perplexity_scores
from weft.inference.loader import load_model_on_device, load_translator
from weft.metrics.comparison import ComparisonSettings, score_systems
from weft.metrics.corpus_metrics import evaluate_with_intervals, language_options
from weft.metrics.references import ComparisonData, SystemOutput
from weft.metrics.score_report import align_columns, format_p_value, score_to_dict
from weft.metrics.scores import MetricScore, Segments
from weft.metrics.significance import SIGNIFICANCE_LEVEL
from weft.text.text_config import source_modality
from weft.training.embedding_extension import choose_tokenizers, extend_model, extend_optimizer_state
from weft.training.finetuning_recipe import (
    FinetuningOptions,
    NewData,
    OriginalData,
    corpora_to_write,
    format_mix,
    load_new_data,
    load_original_data,
    make_finetuning_recipe,
    mean_token_count,
    new_data_settings,
    replay_corpora,
)
from weft.training.progress import ProgressDisplay
from weft.training.recipe_checks import check_recipe
from weft.training.run_folder import PreparedRunFolder
from weft.training.trainer import RunOutcome
from weft.training.training_run import run_prepared_training
from weft.training.warm_start import load_newest_optimizer_state, trainable_names

MAX_EVALUATION_LINES = 1000  # of each corpus
DEFAULT_METRICS = ("bleu", "chrf")  # if the recipe names none
COMPARABLE_SCORES = ("perplexity per word", "bits per character")  # do not depend on the tokens

ScoreRecords = Mapping[str, Sequence[Mapping[str, Any]]]  # scores by corpus


@dataclass(frozen=True)
class FinetuningRequest:
    """What a user requested. The fingerprints are of the model and the new files.

    before, outputs: the scores and the translations of the model before fine-tuning, by corpus, once the folder is
    prepared.
    """

    model: str
    model_fingerprint: str
    files: tuple[str, ...]
    data_fingerprint: str
    options: FinetuningOptions
    before: dict[str, list[dict[str, Any]]] = field(default_factory=dict)
    outputs: dict[str, list[str]] = field(default_factory=dict)


class FinetuningFolder(PreparedRunFolder[FinetuningRequest]):
    kind, command, request_type = "finetuning", "weft finetune", FinetuningRequest
    differences: ClassVar[dict[str, str]] = {
        "model_fingerprint": "with another model",
        "files": "with other files",
        "data_fingerprint": "with the same files before they were changed",
        "options.mix": "with another --mix",
        "options.freeze": "with another --freeze",
        "options.extend": "with another --extend-vocabulary",
        "options.keep_optimizer": "with another choice of --keep-optimizer",
        "options.settings": "with other settings",
        "options.minutes": "with other --minutes",
    }


def finetune(
    model: Path,
    files: Sequence[str],
    folder: FinetuningFolder,
    display: ProgressDisplay,
    options: FinetuningOptions,
    device: str = "auto",
) -> RunOutcome:
    """Fine-tune the model on the files; the same call resumes what was stopped."""
    if not folder.is_prepared():
        folder.check_can_start()  # before anything is read
    trained = load_model(model)
    settings = new_data_settings(trained.recipe, options.settings)
    new = load_new_data(files, trained.recipe, settings, model)
    request = FinetuningRequest(str(model), model_fingerprint(model), new.files, new.corpus.fingerprint(), options)
    if folder.is_prepared():
        folder.check_same(request)
    else:
        prepare_finetuning(folder, request, trained, new, settings.fields, display, device)
    return run_prepared_training(folder, display, device)


def prepare_finetuning(
    folder: FinetuningFolder,
    request: FinetuningRequest,
    trained: TrainedModel,
    new: NewData,
    fields: tuple[str, str],
    display: ProgressDisplay,
    device: str,
) -> None:
    """Make all choices, score the model before, and create the folder; problems are reported first."""
    model, options = Path(request.model), request.options
    recipe = load_model_recipe(model)
    recipe = replace(recipe, data=locate_data(model, recipe.data))
    original = load_original_data(model, recipe)
    replay = replay_corpora(original, recipe, new, options.mix, fields) if options.mix else []
    tokenizers = choose_tokenizers(trained, new.corpus.pairs(), options.extend)
    mean_tokens = mean_token_count(new.corpus.pairs(), (tokenizers.source.codec, tokenizers.target.codec))
    chosen = make_finetuning_recipe(recipe, request.model, folder, options, new, replay, mean_tokens)
    check_recipe(replace(chosen.recipe, train=replace(chosen.recipe.train, initial_model=request.model)))
    corpora = corpora_to_write(new, replay, fields, recipe)
    optimizer_state = load_newest_optimizer_state(model, display.print) if options.keep_optimizer else {}
    display.print(chosen.reasons)
    for line in tokenizers.descriptions():
        display.print(f"{line}; the weights of each start as the mean of those of the old tokens that spelled it")
    if original.warning is not None:
        display.print(original.warning + ("" if original.train else ", so there are no scores on the original data"))
    before = score_model(model, evaluation_corpora(new.valid, original), device, display, "before")
    extended = extend_model(trained, tokenizers)._replace(recipe=recipe)
    state = extend_optimizer_state(optimizer_state, trainable_names(recipe), trained, extended, tokenizers)
    pairs = {name: corpus.pairs() for name, corpus in corpora.items()}
    request = replace(request, before=before.scores, outputs=before.outputs)
    folder.prepare(request, chosen.yaml, extended, state, pairs, fields)


class ModelScores(NamedTuple):
    """Scores and translations of a model by corpus; a language model has no translations."""

    scores: dict[str, list[dict[str, Any]]]
    outputs: dict[str, list[str]]


def evaluation_corpora(valid: Corpus | None, original: OriginalData) -> dict[str, Corpus]:
    corpora = {"new": valid, "original": original.valid}
    return {name: corpus for name, corpus in corpora.items() if corpus is not None}


def score_model(
    folder: Path, corpora: Mapping[str, Corpus], device: str, display: ProgressDisplay, when: str
) -> ModelScores:
    """Score a model on the first lines of each corpus, with its own search."""
    display.print(f"scoring the model {when}: {', '.join(f'{name} ({corpus})' for name, corpus in corpora.items())}")
    pairs = {name: list(islice(corpus.pairs(), MAX_EVALUATION_LINES)) for name, corpus in corpora.items()}
    recipe = load_model_recipe(folder)
    scores: dict[str, list[MetricScore]] = {}
    outputs: dict[str, list[str]] = {}
    if recipe.data.monolingual:
        trained = load_model_on_device(folder, device)
        for name, rows in pairs.items():
            lines = [line for _, line in rows]
            tokens = trained.target_tokenizer.encode(lines)
            counts = Counter(count_units(lines, tokens, trained.target_tokenizer))
            measured = perplexity_scores(negative_log_likelihood(trained, tokens), counts)
            scores[name] = [score for score in measured if score.name in COMPARABLE_SCORES]
    else:
        translator = load_translator(folder, device=device)
        metrics = recipe.train.validation.metrics or DEFAULT_METRICS
        options = language_options(recipe.data.languages)
        for name, rows in pairs.items():
            sources, references = [source for source, _ in rows], [[target] for _, target in rows]
            translations = display.track(
                translator.for_text(split=False).stream(sources), f"translating {name}", len(sources)
            )
            outputs[name] = [translation.text for translation in translations]
            scores[name] = evaluate_with_intervals(Segments(outputs[name], references, sources), metrics, options)
    return ModelScores({name: [score_to_dict(score) for score in found] for name, found in scores.items()}, outputs)


def compare_before_and_after(folder: FinetuningFolder, display: ProgressDisplay, device: str) -> str | None:
    """Score the fine-tuned model, save the scores, and return a table; None if there is nothing to score on."""
    request, recipe = folder.request(), folder.located_recipe()
    before, mix = request.before, request.options.mix
    trained_on = load_model_config(folder.initial_model)
    trained_on = replace(trained_on, data=locate_data(folder.initial_model, trained_on.data))
    original = load_original_data(Path(request.model), trained_on)
    valid = recipe.data.splits(source_modality(recipe.text)).get("valid")
    corpora = {name: corpus for name, corpus in evaluation_corpora(valid, original).items() if name in before}
    if not corpora:
        display.print("there is no data to score the model on: set data.valid=[FILE] to measure what is gained")
        return None
    scored = score_model(folder.path, corpora, device, display, "after")
    after = {
        name: add_p_values(scores, corpora[name], request.outputs.get(name, ()), scored.outputs.get(name, ()))
        for name, scores in scored.scores.items()
    }
    write_json(folder.scores_file, {"mix": mix, "before": before, "after": after})
    return format_before_and_after(before, after, {name: str(corpus) for name, corpus in corpora.items()}, mix)


def add_p_values(
    scores: Sequence[Mapping[str, Any]], corpus: Corpus, before: Sequence[str], after: Sequence[str]
) -> list[dict[str, Any]]:
    """Add to each score the p of its difference by a paired bootstrap of the lines, if there are translations."""
    if not after:
        return [dict(score) for score in scores]
    pairs = list(islice(corpus.pairs(), len(after)))
    systems = [SystemOutput("before", before), SystemOutput("after", after)]
    data = ComparisonData(systems, [[target] for _, target in pairs], [source for source, _ in pairs])
    settings = ComparisonSettings([str(score["name"]) for score in scores], test="bootstrap")
    compared = score_systems(data, settings)
    return [{**score, "p": compared[str(score["name"])][1].p} for score in scores]


def format_before_and_after(before: ScoreRecords, after: ScoreRecords, corpora: Mapping[str, str], mix: float) -> str:
    """Return a table for each corpus, with the scores before and after and their change."""
    lines = [f"mixed in: {format_mix(mix)}" if mix else "no original pairs were mixed in"]
    for name, corpus in corpora.items():
        rows = [comparison_row(*pair) for pair in zip(before[name], after[name], strict=True)]
        lines += ["", *align_columns([[f"{name}: {corpus}", "before", "after", "change", ""], *rows])]
    return "\n".join(lines)


def comparison_row(before: Mapping[str, Any], after: Mapping[str, Any]) -> list[str]:
    change = after["value"] - before["value"]
    improved = change > 0 if after["better"] == "higher" else change < 0
    verdict, p = "", after.get("p")
    if p is not None:
        significant = f"{'better' if improved else 'worse'} (p = {format_p_value(p)})"
        verdict = significant if p < SIGNIFICANCE_LEVEL and change else "no significant difference"
    return [str(after["name"]), format_score_record(before), format_score_record(after), f"{change:+.2f}", verdict]


def format_score_record(score: Mapping[str, Any]) -> str:
    interval = score.get("interval")
    half = "" if interval is None else f" ± {(interval['high'] - interval['low']) / 2:.2f}"
    return f"{score['value']:.2f}{half}"
