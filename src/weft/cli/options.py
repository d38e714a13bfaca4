"""Arguments and options that several commands share."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from weft.core.errors import UserError

if TYPE_CHECKING:
    from weft.metrics.scores import MetricOptions

SETTING_PATTERN = re.compile(r"[a-z_]+(\.[a-z_0-9]+)*=")  # how KEY=VALUE begins

ModelArgument = Annotated[Path, typer.Argument(metavar="MODEL", help="A run folder or a model folder.")]
DeviceOption = Annotated[str, typer.Option(help="The device: auto, cpu, cuda, cuda:1 or mps.")]
SetOption = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="KEY=VALUE", help="Change a setting, such as translate.ctc_weight=0.3."),
]
OverridesArgument = Annotated[
    list[str] | None,
    typer.Argument(metavar="[KEY=VALUE]...", help="Settings to change, such as model.encoder.layers=6."),
]
BeamOption = Annotated[
    int | None, typer.Option(min=1, help="The beam size; 1 is greedy search. Default: as the model was configured.")
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON.")]
OutputOption = Annotated[Path | None, typer.Option(metavar="FILE", help="The file to write. Default: standard output.")]

BackendOption = Annotated[
    Literal["auto", "torch", "ctranslate2"],
    typer.Option("--backend", help="The library. auto: ctranslate2 where its outputs are the same."),
]
PrecisionOption = Annotated[
    Literal["float32", "int16", "int8"] | None,
    typer.Option("--precision", help="The precision of ctranslate2. int8 may change some outputs."),
]

MetricOption = Annotated[
    list[str] | None,
    typer.Option(
        help="bleu, chrf, ter, meteor, exact, wer, cer, per, repetition, copy, numbers, addresses. Repeatable."
    ),
]
LowercaseOption = Annotated[bool, typer.Option("--lowercase", help="Ignore case.")]
TokenizeOption = Annotated[
    str | None, typer.Option(metavar="NAME", help="The sacrebleu tokenizer, such as intl, zh or char. Default: 13a.")
]
StemOption = Annotated[
    str | None, typer.Option(metavar="LANGUAGE", help="The stemmer of METEOR, such as german. Default: porter.")
]
SynonymsOption = Annotated[
    Path | None, typer.Option("--synonyms", metavar="FILE", help="Synonyms for METEOR, a set of words per line.")
]


def parse_metric_options(
    metrics: Sequence[str], lowercase: bool, tokenize: str | None, stem: str | None, synonyms: Path | None
) -> MetricOptions:
    """Check the metric options of `weft evaluate` and `weft compare` before any work is done."""
    from weft.metrics.corpus_metrics import check_metrics
    from weft.metrics.meteor import read_synonyms
    from weft.metrics.scores import DEFAULT_OPTIONS, NO_SYNONYMS, MetricOptions

    for option, value in (("--stem", stem), ("--synonyms", synonyms)):
        if value is not None and "meteor" not in metrics:
            raise UserError(f"{option} needs METEOR: add --metric meteor, or omit {option}.")
    options = MetricOptions(
        lowercase=lowercase,
        tokenize=tokenize or DEFAULT_OPTIONS.tokenize,
        stem=stem or DEFAULT_OPTIONS.stem,
        synonyms=NO_SYNONYMS if synonyms is None else read_synonyms(synonyms),
    )
    check_metrics(metrics, options)
    return options


def check_tokenize_option(tokenize: str | None, metrics: Sequence[str]) -> None:
    """Raise UserError if --tokenize has no effect on any of the metrics."""
    from weft.metrics.corpus_metrics import METRICS

    if tokenize is not None and not any(METRICS[name].uses_tokenizer for name in metrics):
        names = ", ".join(name for name, metric in METRICS.items() if metric.uses_tokenizer)
        raise UserError(f"--tokenize only affects {names}: add one of them with --metric, or omit --tokenize.")


def refuse_options(situation: str, options: Mapping[str, object], purpose: str) -> None:
    """Raise UserError if any of these options is set; options: values by name, false if not set."""
    names = [name for name, value in options.items() if value]
    if names:
        raise UserError(f"{situation}: omit {', '.join(names)}, which {'is' if len(names) == 1 else 'are'} {purpose}.")


def split_settings(arguments: Sequence[str] | None) -> tuple[list[str], list[str]]:
    """Split arguments into files and settings (KEY=VALUE)."""
    settings = [argument for argument in arguments or [] if SETTING_PATTERN.match(argument)]
    return [argument for argument in arguments or [] if argument not in settings], settings


def parse_weights(weights: str) -> tuple[float, ...]:
    """Parse numbers that are separated by commas."""
    try:
        return tuple(float(number) for number in weights.split(","))
    except ValueError:
        raise UserError(f"--weights {weights}: must be numbers separated by commas, for example 1,2,1.") from None
