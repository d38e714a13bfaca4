"""BLEU, chrF and TER, counted, computed and signed by sacrebleu (Post 2018): scores can be compared across papers.

sacrebleu keeps what it counts in each line to itself, though its own tests of significance rest on it: here alone the
two methods that give it are used, `_extract_corpus_statistics` and `_compute_score_from_stats`.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import zip_longest
from typing import TYPE_CHECKING

import numpy as np

from weft.core.errors import UserError
from weft.metric.counts import Counts, Numbers
from weft.metric.lines import Lines, Options

if TYPE_CHECKING:
    from sacrebleu.metrics.base import Metric
    from sacrebleu.metrics.bleu import BLEU


def bleu(lines: Lines, options: Options) -> Counts:
    """N-gram precision with a brevity penalty (Papineni et al. 2002), 0 to 100."""
    return _counts(_bleu(options), lines)


def chrf(lines: Lines, options: Options) -> Counts:
    """F-score of character n-grams (Popović 2015), 0 to 100."""
    from sacrebleu.metrics.chrf import CHRF

    return _counts(CHRF(lowercase=options.lowercase), lines)


def ter(lines: Lines, _options: Options) -> Counts:
    """Translation edit rate (Snover et al. 2006): edits and shifts per hundred words of the references."""
    from sacrebleu.metrics.ter import TER

    return _counts(TER(), lines)


def words(options: Options) -> Callable[[str], list[str]]:
    """BLEU's splitting of a line into words: punctuation stands by itself."""
    tokenizer = _bleu(options).tokenizer
    return lambda line: str(tokenizer(line.rstrip())).split()


def _bleu(options: Options) -> BLEU:
    from sacrebleu.metrics.bleu import BLEU

    if options.tokenize not in BLEU.TOKENIZERS:
        raise UserError(f"tokenize: there is no {options.tokenize!r}; sacrebleu knows {', '.join(BLEU.TOKENIZERS)}")
    try:
        return BLEU(lowercase=options.lowercase, tokenize=options.tokenize)
    except (ImportError, RuntimeError, OSError) as error:  # a package or a downloaded model that is missing
        reason = " ".join(str(error).split())
        raise UserError(f"tokenize: {options.tokenize!r} cannot be used: {reason}") from error


def _counts(metric: Metric, lines: Lines) -> Counts:
    streams = list(zip_longest(*lines.references))  # sacrebleu wants the first references, the second ones, ...
    rows = np.array(metric._extract_corpus_statistics(lines.hypotheses, streams), dtype=np.float64)

    def value(total: Numbers) -> float:
        return float(metric._compute_score_from_stats(total.tolist()).score)

    return Counts(rows, value, str(metric.get_signature()))
