"""Minimum Bayes risk: of many outputs drawn, the one that is nearest to all the others.

    y* = argmin_{y in Y} 1/|Y| sum_{y' in Y} cost(y, y'),    Y drawn from p(. | x)

(Kumar & Byrne 2004; with samples, Eikema & Aziz 2020.) What is drawn often counts often. The cost is between texts
(metric/among.py), so the most probable output need not win: one wins that much of the probability agrees with.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from weft.config.reader import describe, read_part
from weft.config.recipe import MinimumRisk, Translate
from weft.config.registry import REGISTRY
from weft.core.errors import UserError
from weft.core.state import Hypothesis
from weft.metric.among import costs_among
from weft.metric.costs import CostName
from weft.search.role import Search
from weft.store.model_folder import Trained
from weft.text.tokenizer import Tokenizer


class Ranked(NamedTuple):
    """A hypothesis, and what it was compared by, the higher the better; None: nothing was compared."""

    hypothesis: Hypothesis
    rank: float | None


@dataclass(frozen=True)
class Risk:
    """Puts drawn outputs into the order of their expected cost, and keeps the `best`."""

    cost: CostName
    tokenizer: Tokenizer
    best: int = 1

    def __call__(self, drawn: Sequence[Hypothesis]) -> list[Ranked]:
        """Each text once, the least expected cost first, of equals the one drawn first; the rank is minus the cost."""
        texts = self.tokenizer.decode([hypothesis.tokens for hypothesis in drawn])
        first = dict(zip(reversed(texts), reversed(drawn), strict=True))
        costs = expected_costs(texts, self.cost)
        order = sorted(dict.fromkeys(texts), key=costs.__getitem__)
        return [Ranked(first[text], -costs[text]) for text in order[: self.best]]


def expected_costs(texts: Sequence[str], cost: CostName) -> dict[str, float]:
    """Of each text, the mean of its costs with all of them as references."""
    if not texts:
        return {}
    counts = Counter(texts)
    means = costs_among(cost, list(counts)) @ np.array(list(counts.values())) / len(texts)
    return dict(zip(counts, means.tolist(), strict=True))


def check_drawing(settings: Translate, overrides: Sequence[str]) -> None:
    """Is what is set about the search heeded, where outputs are drawn?"""
    kind = describe(settings.search, REGISTRY)["type"]
    for override in overrides:
        if not settings.mbr.samples and override.startswith("translate.mbr.cost"):
            raise UserError(f"--set {override}: is of use only where outputs are drawn: set translate.mbr.samples too")
        if settings.mbr.samples and kind != "sampling" and override.startswith("translate.search"):
            raise UserError(
                f"--set {override}: with translate.mbr.samples {settings.mbr.samples} outputs are drawn at random, so "
                "only settings of the type sampling count: leave it out, or set translate.search={type: sampling, ...}"
            )


def sampling_of(settings: Translate) -> Search:
    """What draws outputs, as many as minimum Bayes risk is to choose from; as the settings say, if they do."""
    node = describe(settings.search, REGISTRY)
    draws = node if node["type"] == "sampling" else {"type": "sampling"}
    made: Search = read_part({**draws, "best": settings.mbr.samples}, Search, REGISTRY)()
    return made


def risk_of(trained: Trained, mbr: MinimumRisk, best: int | None) -> Risk | None:
    """What chooses among the outputs that were drawn; None if nothing is to be."""
    return None if mbr.samples == 0 else Risk(mbr.cost, trained.target_tokenizer, best or 1)


def check_mbr(trained: Trained, mbr: MinimumRisk, beam: int | None, best: int | None) -> None:
    """Can outputs be drawn, where that is asked for, and as many as are asked for?"""
    if mbr.samples and not trained.model.has_decoder:
        raise UserError(
            f"translate.mbr.samples is {mbr.samples}, but this model has no decoder whose outputs could be drawn: "
            "write 0"
        )
    if mbr.samples and beam is not None:
        raise UserError(
            f"--beam {beam}: with translate.mbr.samples {mbr.samples} outputs are drawn at random, and no beam is "
            "searched: leave out one of the two"
        )
    if mbr.samples and best is not None and best > mbr.samples:
        raise UserError(
            f"--best {best}: of each line only {mbr.samples} outputs are drawn (translate.mbr.samples): draw more, or "
            "ask for fewer"
        )
