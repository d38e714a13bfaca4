"""Lines that a run was not trained on."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice
from typing import NamedTuple

import numpy as np

from weft.core.errors import UserError
from weft.data.pairs import Pair
from weft.metric.breakdown import word_lengths
from weft.report.run.known import Known
from weft.text.settings import reads


class Held(NamedTuple):
    """The first lines of valid or test. whole: there are no more. changed: its files are no longer those of the run."""

    name: str
    pairs: list[Pair]
    whole: bool
    changed: bool

    def told(self) -> str:
        count = len(self.pairs)
        lines = "line" if count == 1 else "lines"
        return f"{'the' if self.whole else 'the first'} {count:,} {lines} of {WORDS[self.name]}"


WORDS = {"valid": "the validation data", "test": "the test data", "train": "the training data"}


def held_out(known: Known, name: str, lines: int) -> Held | None:
    """Some lines of a split, where the run has it; UserError if its files cannot be read."""
    corpora = known.recipe.data.splits(reads(known.recipe.text))
    if name not in corpora:
        return None
    pairs = list(islice(corpora[name].pairs(), lines + 1))
    changed = known.facts.fingerprints.get(f"data.{name}") != corpora[name].fingerprint()
    return Held(name, pairs[:lines], len(pairs) <= lines, changed)


def trained_on(known: Known, lines: int) -> list[Pair]:
    """Some lines of the training data, for those who have no others; none if the files are gone."""
    try:
        return list(islice(known.recipe.data.splits(reads(known.recipe.text))["train"].pairs(), lines))
    except UserError:
        return []


def check_test(known: Known) -> None:
    """Before any work: are there test files, where they are asked for?"""
    if not known.recipe.data.test:
        raise UserError(
            "--test: this run names no test data (data.test): leave it out. Other data is measured by weft evaluate"
        )


def typical(pairs: Sequence[Pair], most: int) -> list[Pair]:
    """The first that are neither short nor long, as far as there are any: what can be seen in a picture."""
    spoken = [pair for pair in pairs if "".join(pair).strip()]
    lengths = word_lengths(source or target for source, target in spoken)
    low, high = np.quantile(lengths, (0.25, 0.75)) if lengths else (0, 0)
    return [pair for pair, length in zip(spoken, lengths, strict=True) if low <= length <= high][:most]
