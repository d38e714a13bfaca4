"""Lines that come to their length limit, as our searches have them: there END is forced, and its score counts.

CTranslate2 breaks off instead. But what its beam holds does not depend on what has finished, so that with patience 2
(it goes on until twice as many have finished as the beam is wide, which are never so many here) all that has finished
and all that is live at the limit come back; how probable END is after the live ones tells the scoring of given outputs.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from itertools import islice
from math import isfinite
from typing import Any, NamedTuple

from weft.export.same_search import SameSearch

BATCH = 16  # lines that are searched, or outputs that are scored, by one worker


class AtLimit(NamedTuple):
    """The tokens of a line, and the most that its output may have."""

    row: list[str]
    limit: int


class Best(NamedTuple):
    """An output, its end mark last, and its rank."""

    names: list[str]
    rank: float


def best_at_limit(translator: Any, lines: Sequence[AtLimit], search: SameSearch, end: str) -> list[Best | None]:
    """What searches of these lines give; None where it cannot be told."""
    found = [
        [Best(*pair) for pair in zip(result.hypotheses, result.scores, strict=True)]
        for result in _searched(translator, lines, search)
    ]
    live = [_live(outputs, search.beam, end) for outputs in found]
    pairs = [(line.row, one.names) for line, few in zip(lines, live, strict=True) for one in few]
    scored = _ended(translator, pairs, search.alpha, end)
    ended = [list(islice(scored, len(few))) for few in live]
    return [_best(*all_of, search, end) for all_of in zip(lines, found, ended, strict=True)]


def _searched(translator: Any, lines: Sequence[AtLimit], search: SameSearch) -> list[Any]:
    """The result of each line. Those of one limit go together."""
    alike, results = defaultdict[int, list[int]](list), dict[int, Any]()
    for place, line in enumerate(lines):
        alike[line.limit].append(place)
    for limit, places in alike.items():
        results |= zip(
            places,
            translator.translate_batch(
                [lines[place].row for place in places],
                max_batch_size=BATCH,
                beam_size=search.beam,
                patience=2,
                num_hypotheses=2 * search.beam if search.beam > 1 else 1,
                length_penalty=search.alpha,
                return_end_token=True,
                return_scores=True,
                max_input_length=0,
                min_decoding_length=0,
                max_decoding_length=limit,
            ),
            strict=True,
        )
    return [results[place] for place in range(len(lines))]


def _live(outputs: list[Best], beam: int, end: str) -> list[Best]:
    """Those that END is still to be said after; none where so many have finished that no other counts."""
    live = [one for one in outputs if one.names[-1:] != [end]]
    return live if len(outputs) - len(live) < beam else []


def _ended(translator: Any, pairs: list[tuple[list[str], list[str]]], alpha: float, end: str) -> Iterator[Best]:
    """Outputs of sources, with END behind them."""
    if pairs:
        rows, outputs = map(list, zip(*pairs, strict=True))
        scored = translator.score_batch(rows, outputs, max_input_length=0, max_batch_size=BATCH)
        for names, one in zip(outputs, scored, strict=True):
            yield Best([*names, end], sum(one.log_probs) / (len(names) + 1) ** alpha)


def _best(line: AtLimit, outputs: list[Best], ended: list[Best], search: SameSearch, end: str) -> Best | None:
    """END among the first K of the last step lets others go on that the library does not give back. They are no more
    probable than the last of the first K, nor will END make them so: where that is enough to pass the best, it cannot
    be told.
    """
    finished = [one for one in outputs if one.names[-1:] == [end]]
    best = max([*finished, *ended], key=lambda one: one.rank)
    last = min((one.rank for one in outputs if len(one.names) == line.limit), default=0.0)
    reach = last * (line.limit / (line.limit + 1)) ** search.alpha
    told = len(finished) >= search.beam or len(ended) == search.beam or best.rank >= reach
    return best if told and isfinite(best.rank) else None
