"""BLEU, chrF and TER, computed and signed by sacrebleu (Post 2018).

sacrebleu's statistics per segment are private; only this file uses its two methods for them,
`_extract_corpus_statistics` and `_compute_score_from_stats`.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import zip_longest
from typing import TYPE_CHECKING

import numpy as np

from weft.core.errors import UserError
from weft.data.languages import base_code
from weft.metrics.scores import DEFAULT_OPTIONS, FloatArray, MetricOptions, Segments, SufficientStatistics

if TYPE_CHECKING:
    from sacrebleu.metrics.base import Metric
    from sacrebleu.metrics.bleu import BLEU

TOKENIZERS = {  # of target languages for which 13a does not find the words
    "zh": "zh", "yue": "zh", "ja": "ja-mecab", "ko": "ko-mecab",
    "bo": "char", "dz": "char", "km": "char", "lo": "char", "my": "char", "th": "char",
}  # fmt: skip


def bleu(lines: Segments, options: MetricOptions) -> SufficientStatistics:
    """N-gram precision with a brevity penalty (Papineni et al. 2002), 0 to 100."""
    return _extract_statistics(_make_bleu(options), lines)


def chrf(lines: Segments, options: MetricOptions) -> SufficientStatistics:
    """F-score of character n-grams (Popović 2015), 0 to 100."""
    from sacrebleu.metrics.chrf import CHRF

    return _extract_statistics(CHRF(lowercase=options.lowercase), lines)


def ter(lines: Segments, _options: MetricOptions) -> SufficientStatistics:
    """Translation edit rate (Snover et al. 2006): edits and shifts per hundred reference words."""
    from sacrebleu.metrics.ter import TER

    return _extract_statistics(TER(), lines)


def bleu_word_splitter(options: MetricOptions) -> Callable[[str], list[str]]:
    """Return BLEU's tokenizer, which separates punctuation."""
    tokenizer = _make_bleu(options).tokenizer
    return lambda line: str(tokenizer(line.rstrip())).split()


def default_tokenizer(language: str) -> str:
    """Return the tokenizer for a language: sacrebleu's own for Chinese, Japanese and Korean.

    Characters for other scripts without spaces between words, and if a package that sacrebleu needs is not installed.
    """
    own = TOKENIZERS.get(base_code(language))
    if own is None:
        return DEFAULT_OPTIONS.tokenize
    try:
        _make_bleu(MetricOptions(tokenize=own))
    except UserError:
        return "char"
    return own


def _make_bleu(options: MetricOptions) -> BLEU:
    from sacrebleu.metrics.bleu import BLEU

    if options.tokenize not in BLEU.TOKENIZERS:
        raise UserError(f"tokenize: unknown tokenizer {options.tokenize!r}. Use one of {', '.join(BLEU.TOKENIZERS)}")
    try:
        return BLEU(lowercase=options.lowercase, tokenize=options.tokenize)
    except (ImportError, RuntimeError, OSError) as error:  # a missing package or a model that cannot be downloaded
        reason = " ".join(str(error).split())
        raise UserError(f"tokenize: {options.tokenize!r} cannot be used: {reason}") from error


def _extract_statistics(metric: Metric, lines: Segments) -> SufficientStatistics:
    streams = list(zip_longest(*lines.references))  # sacrebleu expects all first references, all second ones, ...
    rows = np.array(metric._extract_corpus_statistics(lines.hypotheses, streams), dtype=np.float64)

    def compute(total: FloatArray) -> float:
        return float(metric._compute_score_from_stats(total.tolist()).score)

    return SufficientStatistics(rows, compute, str(metric.get_signature()))
