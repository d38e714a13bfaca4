"""`weft evaluate`: score a model or a file of translations."""

from pathlib import Path
from typing import Annotated

import typer

from weft.cli.options import (
    BeamOption,
    DeviceOption,
    JsonOption,
    LowercaseOption,
    MetricOption,
    SetOption,
    StemOption,
    SynonymsOption,
    TokenizeOption,
    check_tokenize_option,
    parse_metric_options,
    refuse_options,
)
from weft.core.errors import UserError


def evaluate(
    system: Annotated[Path, typer.Argument(metavar="MODEL|TRANSLATIONS", help="A model, or a file of translations.")],
    files: Annotated[
        list[Path],
        typer.Argument(
            metavar="FILE",
            help="For a model: the source, then its references. For translations: the references. For both, one .tsv "
            "with the source in the first column and its references in the others. For a language model: a text.",
        ),
    ],
    metric: MetricOption = None,
    lowercase: LowercaseOption = False,
    tokenize: TokenizeOption = None,
    stem: StemOption = None,
    synonyms: SynonymsOption = None,
    json: JsonOption = False,
    output: Annotated[Path | None, typer.Option(metavar="FILE", help="Write the translations to this file.")] = None,
    beam: BeamOption = None,
    settings: SetOption = None,
    device: DeviceOption = "auto",
) -> None:
    """Score a model or a file of translations against one or more references, or a language model on a text.

    \b
    weft evaluate MODEL TEST.tsv
    weft evaluate MODEL SOURCE REFERENCE...
    weft evaluate TRANSLATIONS REFERENCE...
    weft evaluate LANGUAGE_MODEL TEXT
    """
    from weft.core.files import check_output_file
    from weft.inference.evaluation import evaluate_file, evaluate_model, read_examples
    from weft.inference.language_model import evaluate_perplexity, is_single_text, load_for_perplexity
    from weft.inference.loader import load_translator
    from weft.metrics.corpus_metrics import DEFAULT_METRICS
    from weft.metrics.score_report import format_scores, scores_to_json

    if not system.exists():
        raise UserError(f"{system}: there is no such file or folder")
    search_options: dict[str, object] = {"--output": output, "--beam": beam, "--set": settings}
    if system.is_dir() and is_single_text(files):
        trained = load_for_perplexity(files[0], system, device)
        options = {"--metric": metric, "--lowercase": lowercase, "--tokenize": tokenize, "--stem": stem}
        situation = f"{system} is a language model, scored by its perplexity"
        refuse_options(situation, {**options, "--synonyms": synonyms, **search_options}, "for translations")
        scores = evaluate_perplexity(trained, files[0])
    else:
        metrics = metric or DEFAULT_METRICS
        metric_options = parse_metric_options(metrics, lowercase, tokenize, stem, synonyms)
        check_tokenize_option(tokenize, metrics)
        if system.is_dir():
            check_output_file(output, files)
            examples = read_examples(files)
            translator = load_translator(system, device=device, beam=beam, overrides=settings or [])
            scores = evaluate_model(translator, examples, metrics, metric_options, output)
        else:
            model_options = {**search_options, "--device": device != "auto"}
            refuse_options(f"{system} is a file of translations", model_options, "for a model")
            scores = evaluate_file(system, files, metrics, metric_options)
    print(scores_to_json(scores) if json else format_scores(scores))
