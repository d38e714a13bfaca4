"""Fine-tune a trained model on new data: prepare the folder, train, and compare scores before and after on new and
original data.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Any

from torch import Tensor

from weft.checkpoints.checkpoint import load_newest_checkpoint
from weft.checkpoints.model_folder import model_fingerprint
from weft.checkpoints.trained_model import TrainedModel, load_model, load_model_config, load_model_recipe
from weft.config.inference_config import InferenceConfig
from weft.core.errors import UserError
from weft.core.files import write_atomically
from weft.data.corpus import Corpus, HoldoutSplit
from weft.inference.language_model import count_units, negative_log_likelihood, perplexity_scores
from weft.inference.loader import load_model_on_device, load_translator
from weft.metrics.corpus_metrics import evaluate_with_intervals
from weft.metrics.score_report import align_columns, score_to_dict
from weft.metrics.scores import MetricScore, Segments
from weft.text.text_config import source_modality
from weft.training.derived_runs import (
    FinetuningFolder,
    FinetuningOptions,
    FinetuningRecord,
    FinetuningRequest,
    to_json_bytes,
    train_or_resume,
)
from weft.training.embedding_extension import (
    ExtendedTokenizers,
    extend_model,
    extend_optimizer_state,
    extend_tokenizers,
    extension_obstacle,
    unextended_tokenizers,
)
from weft.training.finetuning_recipe import (
    NewData,
    OriginalData,
    ReplayCorpus,
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
from weft.training.run_folder import RunFolder
from weft.training.trainer import RunOutcome
from weft.training.warm_start import trainable_names

MAX_EVALUATION_LINES = 1000  # of each corpus
DEFAULT_METRICS = ("bleu", "chrf")  # if the recipe names none
COMPARABLE_SCORES = ("perplexity per word", "bits per character")  # do not depend on the tokens
DEFAULT_NEW_TOKENS, NEW_TOKEN_SHARE = 100, 0.1  # the default maximum is the larger of count and share of the old tokens

ScoreRecords = Mapping[str, Sequence[Mapping[str, Any]]]  # scores by corpus


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
    return train_or_resume(folder, display, device)


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
    optimizer_state = newest_optimizer_state(model, display) if options.keep_optimizer else {}
    original = load_original_data(model, recipe)
    replay = replay_corpora(original, recipe, new, options.mix, fields) if options.mix else []
    tokenizers = choose_tokenizers(trained, new, options)
    mean_tokens = mean_token_count(new.corpus.pairs(), (tokenizers.source.codec, tokenizers.target_tokenizer))
    draft = make_finetuning_recipe(recipe, request.model, folder, options, new, replay, mean_tokens)
    check_recipe(replace(draft.recipe, train=replace(draft.recipe.train, initial_model=request.model)))
    corpora = corpora_to_write(new, replay, fields, recipe)
    display.print(draft.reasons)
    for line in tokenizers.descriptions():
        display.print(f"{line}; the weights of each start as the mean of those of the old tokens that spelled it")
    if original.warning is not None:
        display.print(original.warning + ("" if original.train else ", so there are no scores on the original data"))
    before = score_model(model, evaluation_corpora(new.valid, original), device, display, "before")
    extended = extend_model(trained, tokenizers)._replace(recipe=recipe)
    state = extend_optimizer_state(optimizer_state, trainable_names(recipe), trained, extended, tokenizers)
    pairs = {name: corpus.pairs() for name, corpus in corpora.items()}
    folder.prepare(FinetuningRecord(request, before), draft.yaml, extended, state, pairs, fields)


def newest_optimizer_state(model: Path, display: ProgressDisplay) -> Mapping[str, Tensor]:
    checkpoint = load_newest_checkpoint(RunFolder(model).checkpoints, display.print)
    if checkpoint is None:
        raise UserError(
            f"{model} has no checkpoints, which hold the optimizer state: give the run folder (the --out of weft "
            "train), or omit --keep-optimizer"
        )
    return checkpoint.groups["optimizer"]


def choose_tokenizers(trained: TrainedModel, new: NewData, options: FinetuningOptions) -> ExtendedTokenizers:
    """Return the tokenizers of the model, extended by tokens of the new data if possible and requested."""
    obstacle = extension_obstacle(trained.recipe)
    if options.extend and obstacle is not None:
        raise UserError(
            f"--extend-vocabulary {options.extend}: the vocabulary of this model is fixed, since {obstacle}: omit it"
        )
    if options.extend == 0 or obstacle is not None:
        return unextended_tokenizers(trained)
    limit = options.extend or max(DEFAULT_NEW_TOKENS, round(NEW_TOKEN_SHARE * trained.target_tokenizer.size))
    return extend_tokenizers(trained, new.corpus.pairs(), limit, merges=options.extend is not None)


def corpora_to_write(
    new: NewData, replay: Sequence[ReplayCorpus], fields: tuple[str, str], recipe: InferenceConfig
) -> dict[str, Corpus]:
    """Return the corpora that need files of their own: parts of files, where other corpora are mixed in."""
    corpora = {f"original-{number}": one.corpus for number, one in enumerate(replay) if one.needs_file}
    if replay and new.held_out:
        rest = HoldoutSplit(new.held_out, is_held_out=False)
        corpora["new"] = Corpus(new.files, fields, rest, modality=new.corpus.modality)
        if new.valid is not None:
            corpora["new-valid"] = new.valid
    if corpora and (recipe.data.monolingual or source_modality(recipe.text) == "image"):
        raise UserError("--mix: name validation data, since only pairs of text can be split: data.valid=[FILE]")
    return corpora


def evaluation_corpora(valid: Corpus | None, original: OriginalData) -> dict[str, Corpus]:
    corpora = {"new": valid, "original": original.valid}
    return {name: corpus for name, corpus in corpora.items() if corpus is not None}


def score_model(
    folder: Path, corpora: Mapping[str, Corpus], device: str, display: ProgressDisplay, when: str
) -> dict[str, list[dict[str, Any]]]:
    display.print(f"scoring the model {when}: {', '.join(f'{name} ({corpus})' for name, corpus in corpora.items())}")
    scores = evaluate_model(folder, corpora, device)
    return {name: [score_to_dict(score) for score in found] for name, found in scores.items()}


def evaluate_model(folder: Path, corpora: Mapping[str, Corpus], device: str) -> dict[str, list[MetricScore]]:
    """Return the scores of a model on the first lines of each corpus, with its own search."""
    pairs = {name: list(islice(corpus.pairs(), MAX_EVALUATION_LINES)) for name, corpus in corpora.items()}
    recipe = load_model_recipe(folder)
    if recipe.data.monolingual:
        trained = load_model_on_device(folder, device)
        return {name: language_model_scores(trained, [line for _, line in rows]) for name, rows in pairs.items()}
    translator = load_translator(folder, device=device)
    metrics = recipe.train.validation.metrics or DEFAULT_METRICS
    scores = {}
    for name, rows in pairs.items():
        sources = [source for source, _ in rows]
        outputs = [translation.text for translation in translator.translate(sources)]
        scores[name] = evaluate_with_intervals(Segments(outputs, [[target] for _, target in rows], sources), metrics)
    return scores


def language_model_scores(trained: TrainedModel, lines: list[str]) -> list[MetricScore]:
    rows = trained.target_tokenizer.encode(lines)
    counts = Counter(count_units(lines, rows, trained.target_tokenizer))
    scores = perplexity_scores(negative_log_likelihood(trained, rows), counts)
    return [score for score in scores if score.name in COMPARABLE_SCORES]


def compare_before_and_after(folder: FinetuningFolder, display: ProgressDisplay, device: str) -> str | None:
    """Score the fine-tuned model, save the scores, and return a table; None if there is nothing to score on."""
    record, recipe = folder.record(), folder.recipe()
    request, before = record.request, record.before
    original = load_original_data(Path(request.model), load_model_config(folder.initial_model))
    valid = recipe.data.splits(source_modality(recipe.text)).get("valid")
    corpora = {name: corpus for name, corpus in evaluation_corpora(valid, original).items() if name in before}
    if not corpora:
        display.print("there is no data to score the model on: give data.valid to see what is gained")
        return None
    after = score_model(folder.path, corpora, device, display, "after")
    mix = request.options.mix
    write_atomically(folder.scores_file, to_json_bytes({"mix": mix, "before": before, "after": after}))
    return format_before_and_after(before, after, {name: str(corpus) for name, corpus in corpora.items()}, mix)


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
    verdict = "" if abs(change) < 0.005 else "better" if improved else "worse"
    return [str(after["name"]), format_score_record(before), format_score_record(after), f"{change:+.2f}", verdict]


def format_score_record(score: Mapping[str, Any]) -> str:
    interval = score.get("interval")
    half = "" if interval is None else f" ± {(interval['high'] - interval['low']) / 2:.2f}"
    return f"{score['value']:.2f}{half}"
