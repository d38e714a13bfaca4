"""Options that say how translations are compared with references: of weft evaluate and weft compare."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NamedTuple

import typer

from weft.core.errors import UserError

if TYPE_CHECKING:
    from weft.metric.lines import Options

Metrics = Annotated[
    list[str] | None,
    typer.Option(
        help="bleu, chrf, ter, meteor, exact, wer, cer, per, repetition, copy, numbers, addresses. May be repeated."
    ),
]
Lowercase = Annotated[bool, typer.Option("--lowercase", help="Ignore case.")]
Tokenize = Annotated[
    str | None,
    typer.Option(
        metavar="NAME",
        help="sacrebleu's tokenizer for BLEU and other words: 13a, intl, zh, ja-mecab, char, none ... Default: 13a.",
    ),
]
Stem = Annotated[
    str | None, typer.Option(metavar="LANGUAGE", help="METEOR's stems, as german. Default: porter, for English.")
]
SynonymFile = Annotated[
    Path | None,
    typer.Option("--synonyms", metavar="FILE", help="For METEOR: on each line words that mean the same."),
]


class Comparing(NamedTuple):
    """The options."""

    lowercase: bool
    tokenize: str | None
    stem: str | None
    synonyms: Path | None

    def options(self, metrics: Sequence[str]) -> Options:
        """How lines are compared; what is wrong is told before any work."""
        from weft.metric.evaluate import check_metrics
        from weft.metric.lines import DEFAULTS, Options
        from weft.metric.synonyms import NO_SYNONYMS, read_synonyms

        for option, value in (("--stem", self.stem), ("--synonyms", self.synonyms)):
            if value is not None and "meteor" not in metrics:
                raise UserError(f"{option} is for METEOR: add --metric meteor, or leave {option} out.")
        options = Options(
            lowercase=self.lowercase,
            tokenize=self.tokenize or DEFAULTS.tokenize,
            stem=self.stem or DEFAULTS.stem,
            synonyms=NO_SYNONYMS if self.synonyms is None else read_synonyms(self.synonyms),
        )
        check_metrics(metrics, options)
        return options

    def check_words(self, metrics: Sequence[str]) -> None:
        """Is there a metric that asks for words, where it is said how they are found?"""
        from weft.metric.evaluate import METRICS

        if self.tokenize is not None and not any(METRICS[name].splits for name in metrics):
            able = ", ".join(name for name, metric in METRICS.items() if metric.splits)
            raise UserError(
                f"--tokenize says how lines become words for {able}: add one of them by --metric, or leave it out."
            )
