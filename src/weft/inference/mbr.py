"""Minimum Bayes risk decoding (Kumar & Byrne 2004; with samples, Eikema & Aziz 2020): y* = argmin_{y in Y} 1/|Y|
sum_{y' in Y} cost(y, y'), Y sampled from p(. | x).
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from weft.config.inference_config import DecodingConfig
from weft.config.schema import unwrap_factory
from weft.core.state import Hypothesis
from weft.decoding.sampling import Sampling
from weft.metrics.sentence_costs import CostName, pairwise_costs
from weft.text.tokenizer import Tokenizer


@dataclass(frozen=True)
class MBRSelector:
    """Sorts sampled hypotheses by their expected cost, and returns the `n_best`."""

    cost: CostName
    tokenizer: Tokenizer
    n_best: int = 1

    def __call__(self, samples: Sequence[Hypothesis]) -> list[tuple[Hypothesis, float]]:
        """Hypotheses with different texts, lowest expected cost first (of equal ones the first sample), and minus that
        cost.
        """
        texts = self.tokenizer.decode([sample.tokens for sample in samples])
        first = dict(zip(reversed(texts), reversed(samples), strict=True))
        costs = expected_costs(texts, self.cost)
        order = sorted(dict.fromkeys(texts), key=costs.__getitem__)
        return [(first[text], -costs[text]) for text in order[: self.n_best]]


def expected_costs(texts: Sequence[str], cost: CostName) -> dict[str, float]:
    """For each text, its mean cost with all texts as references."""
    if not texts:
        return {}
    counts = Counter(texts)
    means = pairwise_costs(cost, list(counts)) @ np.array(list(counts.values())) / len(texts)
    return dict(zip(counts, means.tolist(), strict=True))


def make_sampling_search(settings: DecodingConfig) -> Sampling:
    """Draws `translate.mbr.samples` outputs, with the settings of `translate.search` if that is sampling."""
    kind, arguments = unwrap_factory(settings.search)
    return Sampling(**{**(arguments if kind is Sampling else {}), "n_best": settings.mbr.samples})
