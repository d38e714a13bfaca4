"""Lists of alternatives in another order: as several models together would have it.

Each alternative y of a source x has the score of the search that found it, and those that other models give it when
they are made to say it. It is ranked by

    sum_i w_i log p_i(y | x) / |y|_i^alpha

where |y|_i counts the pieces of model i, its END included. The models need not have the same pieces, nor the same
direction: one that says lines from right to left (text.target_order: backward) doubts what the others began badly.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any, NamedTuple

from weft.core.errors import UserError
from weft.engine.records import finite
from weft.engine.scoring import Scored, Scorer
from weft.text.reader import LineError, at_once

LISTS = 256  # read at once, so that what is of one length can be scored together


class Ranked(NamedTuple):
    """An alternative as it was read, the log-probabilities that it was given, the search's first, and their sum."""

    alternative: dict[str, Any]
    scores: tuple[float, ...]
    total: float


class Reranked(NamedTuple):
    """A line of the list: the record as it was read, and its alternatives, the best first."""

    record: dict[str, Any]
    ranked: tuple[Ranked, ...]

    @property
    def text(self) -> str:
        text: str = self.ranked[0].alternative["text"]
        return text


@dataclass(frozen=True)
class Reranker:
    """Models that score alternatives. weights: of the search's own score, then of each model."""

    scorers: tuple[Scorer, ...]
    weights: tuple[float, ...]
    alpha: float

    def stream(self, lines: Iterable[str]) -> Iterator[Reranked]:
        """A list out for each list in: lines as `weft translate --json` writes them."""
        records, done = (read_record(line, number) for number, line in enumerate(lines, 1)), 0
        size = min(at_once(scorer.trained.source_tokenizer, LISTS) for scorer in self.scorers)
        while window := list(islice(records, size)):
            yield from self._window(window, done + 1)
            done += len(window)

    def _window(self, records: Sequence[dict[str, Any]], first: int) -> Iterator[Reranked]:
        columns = [iter(scores_of(scorer, records, first)) for scorer in self.scorers]
        for record in records:
            ranked = []
            for one in record["alternatives"]:
                given = [next(column) for column in columns]
                scores = (own_score(one), *(scored.score for scored in given))
                lengths = [len(one["pieces"]), *(len(scored.pieces) for scored in given)]
                ranked.append(Ranked(one, scores, self._total(scores, lengths)))
            yield Reranked(record, tuple(sorted(ranked, key=lambda one: -one.total)))  # of equals the first read

    def _total(self, scores: Sequence[float], lengths: Sequence[int]) -> float:
        parts = zip(self.weights, scores, lengths, strict=True)
        return math.fsum(
            weight * score / math.pow(max(length, 1), self.alpha) for weight, score, length in parts if weight
        )


def make_reranker(scorers: Sequence[Scorer], weights: Sequence[float] | None, alpha: float) -> Reranker:
    """With weights that fit; none given: all scores count the same."""
    count = 1 + len(scorers)
    chosen = (1.0,) * count if weights is None else tuple(weights)
    if len(chosen) != count:
        told = "1 number" if len(chosen) == 1 else f"{len(chosen)} numbers"
        raise UserError(
            f"weights: got {told}, wanted {count}: one for the scores in the list, then one for each model, in order"
        )
    if not all(math.isfinite(weight) and weight >= 0 for weight in chosen) or not any(chosen):
        given = ", ".join(f"{weight:g}" for weight in chosen)
        raise UserError(f"weights: got {given}: each should be a number from 0 up, and not all of them 0")
    return Reranker(tuple(scorers), chosen, alpha)


def scores_of(scorer: Scorer, records: Sequence[dict[str, Any]], first: int) -> list[Scored]:
    """What the model thinks of every alternative, one list after the other; first: the line of the first list."""
    numbered = [(number, record, one) for number, record in enumerate(records, first) for one in record["alternatives"]]
    try:
        return scorer.score([(record["source"], one["text"]) for _, record, one in numbered])
    except LineError as error:
        raise UserError(f"line {numbered[error.row][0]}: {error}") from error


def own_score(alternative: dict[str, Any]) -> float:
    """What the search gave it; null is minus infinity, which JSON does not have."""
    return -math.inf if alternative["score"] is None else float(alternative["score"])


def read_record(line: str, number: int) -> dict[str, Any]:
    """A line of the list, with what is needed of it in its place."""
    try:
        record = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise UserError(f"line {number}: not JSON ({error}). {WANTED}") from None
    if not is_list_of_alternatives(record):
        raise UserError(f"line {number}: holds no source with its alternatives. {WANTED}")
    found: dict[str, Any] = record
    return found


WANTED = "Lists of alternatives come from: weft translate MODEL INPUT --json --best 10"


def is_list_of_alternatives(record: object) -> bool:
    """Is this what `weft translate --json` writes for a line?"""
    match record:
        case {"source": str(), "alternatives": [_, *_] as alternatives}:
            return all(is_alternative(one) for one in alternatives)
    return False


def is_alternative(one: object) -> bool:
    match one:
        case {"text": str(), "score": int() | float() | None, "pieces": list()}:
            return True
    return False


def as_line(one: Reranked, *, as_json: bool) -> str:
    return (json.dumps(as_record(one), ensure_ascii=False) if as_json else one.text) + "\n"


def as_record(one: Reranked) -> dict[str, object]:
    """What --json prints for a line: the record as it was, its alternatives in their new order with all scores."""
    alternatives = [
        {**ranked.alternative, "scores": [finite(score) for score in ranked.scores], "ranked_by": finite(ranked.total)}
        for ranked in one.ranked
    ]
    return {**one.record, "text": one.text, "score": alternatives[0]["score"], "alternatives": alternatives}
