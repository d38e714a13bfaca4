"""N-best reranking with several models: sum_i w_i log p_i(y | x) / |y|_i^alpha, where |y|_i counts the tokens of
model i, EOS included. The models may differ in vocabulary and direction.
"""

import json
import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from weft.core.codec import LineError, codec_chunk_size
from weft.core.errors import UserError
from weft.core.formatting import pluralize
from weft.inference.backends import process_windows
from weft.inference.scoring import ScoredPair, Scorer
from weft.inference.translation import finite_or_none

LISTS_PER_WINDOW = 256  # read at once, so that outputs of similar length are scored together
N_BEST_HINT = "N-best lists come from: weft translate MODEL INPUT --json --n-best 10"


class RerankedAlternative(NamedTuple):
    """An alternative as it was read, its log-probabilities (the search's first), and their weighted sum."""

    alternative: dict[str, Any]
    scores: tuple[float, ...]
    total: float


class RerankedLine(NamedTuple):
    """A line of the n-best list: the record as it was read, and its alternatives, best first."""

    record: dict[str, Any]
    ranked: tuple[RerankedAlternative, ...]

    @property
    def text(self) -> str:
        text: str = self.ranked[0].alternative["text"]
        return text


@dataclass(frozen=True)
class Reranker:
    """Scores alternatives with several models. weights: of the search's own score, then of each model."""

    scorers: tuple[Scorer, ...]
    weights: tuple[float, ...]
    alpha: float

    def stream(self, lines: Iterable[str]) -> Iterator[RerankedLine]:
        """Rerank lines as `weft translate --json` writes them."""
        records = (_read_record(line, number) for number, line in enumerate(lines, 1))
        size = min(codec_chunk_size(scorer.trained.source_tokenizer, LISTS_PER_WINDOW) for scorer in self.scorers)
        return process_windows(records, size, lambda window, _: self._rerank(window))

    def _rerank(self, records: Sequence[dict[str, Any]]) -> Iterator[RerankedLine]:
        columns = [iter(_score_alternatives(scorer, records)) for scorer in self.scorers]
        for record in records:
            ranked = []
            for alternative in record["alternatives"]:
                scored = [next(column) for column in columns]
                search_score = alternative["score"]  # null in JSON is minus infinity
                scores = (-math.inf if search_score is None else float(search_score), *(one.score for one in scored))
                lengths = [len(alternative["tokens"]), *(len(one.tokens) for one in scored)]
                terms = zip(self.weights, scores, lengths, strict=True)
                total = math.fsum(weight * score / max(n, 1) ** self.alpha for weight, score, n in terms if weight)
                ranked.append(RerankedAlternative(alternative, scores, total))
            yield RerankedLine(record, tuple(sorted(ranked, key=lambda one: -one.total)))  # ties keep their order


def make_reranker(scorers: Sequence[Scorer], weights: Sequence[float] | None, alpha: float) -> Reranker:
    """A reranker with these weights (None: all equal); raise UserError if they do not fit."""
    count = 1 + len(scorers)
    chosen = (1.0,) * count if weights is None else tuple(weights)
    if len(chosen) != count:
        numbers = pluralize(len(chosen), "number")
        expected = f"expected {count}: one for the scores in the list, then one for each model"
        raise UserError(f"weights: got {numbers}, {expected}")
    if not all(math.isfinite(weight) and weight >= 0 for weight in chosen) or not any(chosen):
        listed = ", ".join(f"{weight:g}" for weight in chosen)
        raise UserError(f"weights: got {listed}: none should be negative, and not all of them 0")
    return Reranker(tuple(scorers), chosen, alpha)


def _score_alternatives(scorer: Scorer, records: Sequence[dict[str, Any]]) -> list[ScoredPair]:
    alternatives = [(row, alternative) for row, record in enumerate(records) for alternative in record["alternatives"]]
    try:
        return scorer.score([(records[row]["source"], alternative["text"]) for row, alternative in alternatives])
    except LineError as error:
        raise LineError(alternatives[error.row][0], str(error)) from error


def _read_record(line: str, number: int) -> dict[str, Any]:
    try:
        record = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise UserError(f"line {number}: not JSON ({error}). {N_BEST_HINT}") from None
    match record:
        case {"source": str(), "alternatives": [_, *_] as alternatives} if all(map(_is_alternative, alternatives)):
            return dict(record)
    raise UserError(f"line {number}: has no source with its alternatives. {N_BEST_HINT}")


def _is_alternative(node: object) -> bool:
    match node:
        case {"text": str(), "score": int() | float() | None, "tokens": list()}:
            return True
    return False


def format_reranked(line: RerankedLine, *, as_json: bool) -> str:
    """A line of output: the best text, or the record with its alternatives in their new order and all scores."""
    if not as_json:
        return f"{line.text}\n"
    alternatives = [
        {
            **one.alternative,
            "scores": [finite_or_none(score) for score in one.scores],
            "ranking_score": finite_or_none(one.total),
        }
        for one in line.ranked
    ]
    record = {**line.record, "text": line.text, "score": alternatives[0]["score"], "alternatives": alternatives}
    return json.dumps(record, ensure_ascii=False) + "\n"
