"""BLEU, chrF and TER, computed and signed by sacrebleu (Post 2018), so that scores can be compared across papers."""

from __future__ import annotations

from itertools import zip_longest
from typing import TYPE_CHECKING, Literal

from weft.core.errors import UserError
from weft.metric.lines import Lines, Options
from weft.metric.score import Score

if TYPE_CHECKING:
    from sacrebleu.metrics.base import Metric
    from sacrebleu.metrics.bleu import BLEU


def bleu(lines: Lines, options: Options) -> Score:
    """N-gram precision with a brevity penalty (Papineni et al. 2002), 0 to 100."""
    return _score("bleu", _bleu(options), lines, "higher")


def chrf(lines: Lines, options: Options) -> Score:
    """F-score of character n-grams (Popović 2015), 0 to 100."""
    from sacrebleu.metrics.chrf import CHRF

    return _score("chrf", CHRF(lowercase=options.lowercase), lines, "higher")


def ter(lines: Lines, _options: Options) -> Score:
    """Translation edit rate (Snover et al. 2006): edits and shifts per hundred words of the references."""
    from sacrebleu.metrics.ter import TER

    return _score("ter", TER(), lines, "lower")


def _bleu(options: Options) -> BLEU:
    from sacrebleu.metrics.bleu import BLEU

    if options.tokenize not in BLEU.TOKENIZERS:
        raise UserError(f"tokenize: there is no {options.tokenize!r}; sacrebleu knows {', '.join(BLEU.TOKENIZERS)}")
    try:
        return BLEU(lowercase=options.lowercase, tokenize=options.tokenize)
    except (ImportError, RuntimeError, OSError) as error:  # a package or a downloaded model that is missing
        reason = " ".join(str(error).split())
        raise UserError(f"tokenize: {options.tokenize!r} cannot be used: {reason}") from error


def _score(name: str, metric: Metric, lines: Lines, better: Literal["higher", "lower"]) -> Score:
    streams = list(zip_longest(*lines.references))  # sacrebleu wants the first references, the second ones, ...
    value = metric.corpus_score(lines.hypotheses, streams).score
    return Score(name, float(value), better, str(metric.get_signature()))
