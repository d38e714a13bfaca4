"""The engine of CTranslate2: Transformers on a CPU, several times as fast as torch, and there in a moment.

Of each window of lines the longest go first, some at a time, to as many workers as there are cores. The next window is
read and tokenized while they work. A line that comes to its length limit is searched again at once, to end as ours do
(at_limit.py); one whose output could still be another goes to the torch engine.
"""

from __future__ import annotations

import os
import sys
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import islice
from math import isfinite
from typing import Any, NamedTuple

from weft.control.request import Request
from weft.core.marks import END, FIRST_PIECE
from weft.data.lines import one_line
from weft.engine.at_limit import AtLimit, Best, best_at_limit
from weft.engine.batching import cut_batches
from weft.engine.translation import NOTHING, Alternative, Translation
from weft.export.converted import Precision
from weft.export.described import Described
from weft.export.names import token_names
from weft.export.same_search import SameSearch
from weft.text.reader import Reader
from weft.text.shortlist import Shortlist

TOKENS = 512  # of a batch, padding included: of more, what a step holds does not stay near the processor

Otherwise = Callable[[Sequence[str]], list[Translation]]
Found = dict[int, Best | None]  # by the places of their lines in a window; None where ours could be another


class Window(NamedTuple):
    """Some lines in their order, and what is found of them, batch by batch; blank ones are in no batch."""

    lines: list[str]
    cut: list[bool]
    found: list[Future[Found]]


@dataclass(frozen=True)
class CTranslate2:
    """A converted model with a search that both engines have.

    library: opens it for CTranslate2, or has done so. otherwise: the torch engine, for single lines.
    """

    described: Described
    search: SameSearch
    precision: Precision
    library: Callable[[], Any]
    otherwise: Otherwise
    window: int
    workers: int
    shortlist: Shortlist | None = None

    @property
    def reader(self) -> Reader:
        return self.described.source

    @property
    def at_once(self) -> int:
        return self.workers

    def least_source_limit(self) -> int:
        return self.described.source_limit()

    def line_by_line(self) -> CTranslate2:
        return replace(self, window=1)

    def stream(self, lines: Iterable[str | Request]) -> Iterator[Translation]:
        """The translations as they come; unless it goes line by line, a window is read ahead."""
        remaining, going = (Request.of(line).text for line in lines), deque[Window]()
        pool = ThreadPoolExecutor(self.workers + 1, "weft-batch")  # so that one batch is always ready for a worker
        try:
            while window := list(islice(remaining, self.window)):
                going.append(self._begin(window, pool))
                if len(going) > 1 or self.window == 1:
                    yield from self._end(going.popleft())
            while going:
                yield from self._end(going.popleft())
        finally:
            pool.shutdown(cancel_futures=True)

    @cached_property
    def _source_names(self) -> list[str]:
        """What the library calls the tokens of the source."""
        return token_names(self.described.source_tokenizer)

    @cached_property
    def _source_ids(self) -> dict[str, int]:
        return {name: number for number, name in enumerate(self._source_names)}

    @cached_property
    def _target_names(self) -> list[str]:
        return token_names(self.described.target)

    @cached_property
    def _target_ids(self) -> dict[str, int]:
        return {name: number for number, name in enumerate(self._target_names)}

    def _begin(self, lines: list[str], pool: Executor) -> Window:
        limit, names = self.least_source_limit(), self._source_names
        rows = [row.tolist() for row in self.reader.encode_rows(lines).split()]
        tokens = [[names[token] for token in row[:limit]] for row in rows]
        order = sorted((n for n, line in enumerate(lines) if line.strip()), key=lambda n: -len(tokens[n]))
        alone = self.shortlist is not None and self.search.beam > 1
        batches = cut_batches(order, tokens, limit, 1 if alone else TOKENS)
        found = [pool.submit(self._found, places, [tokens[n] for n in places]) for places in batches]
        return Window(lines, [len(row) > limit for row in rows], found)

    def _end(self, window: Window) -> list[Translation]:
        """The translations of a window."""
        found = {place: best for batch in window.found for place, best in batch.result().items()}
        done = {place: Translation(line, (NOTHING,)) for place, line in enumerate(window.lines) if not line.strip()}
        done |= self._written(window, {place: best for place, best in found.items() if best is not None})
        again = [place for place, best in found.items() if best is None]
        done |= zip(again, self.otherwise([window.lines[place] for place in again]) if again else [], strict=True)
        return [done[place] for place in range(len(window.lines))]

    def _found(self, places: list[int], rows: list[list[str]]) -> Found:
        """The best outputs of a batch."""
        found, late, end = Found(), dict[int, AtLimit](), self._target_names[END]
        limit_of = {length: self.described.output_limit(length + 1) for length in set(map(len, rows))}
        for place, row, outputs in zip(places, rows, self._searched(rows, max(limit_of.values())), strict=True):
            limit = limit_of[len(row)]
            over = any(len(names) > limit or names[-1:] != [end] for names in outputs.hypotheses)
            if self._has_marks(outputs.hypotheses) or not isfinite(outputs.scores[0]):
                found[place] = None
            elif not over:
                found[place] = Best(outputs.hypotheses[0], outputs.scores[0])
            elif self.shortlist is None:
                late[place] = AtLimit(row, limit)
            else:
                found[place] = self._cut(outputs, limit)
        bests = best_at_limit(self.library(), list(late.values()), self.search, end) if late else []
        return found | dict(zip(late, bests, strict=True))

    def _searched(self, rows: list[list[str]], limit: int) -> list[Any]:
        """The outputs of each.

        The library lets the lines of a batch share their shortlists. Greedy search finds the same in a line's own list,
        as long as all that it says is in there: a line of which something is not goes again, alone. In a beam search,
        whose scores depend on the whole list, all lines are alone.
        """
        all_outputs = self._translated(rows, limit)
        if self.shortlist is None or len(rows) == 1:
            return all_outputs
        return [
            outputs if self._is_listed(outputs, row) else self._translated([row], limit)[0]
            for outputs, row in zip(all_outputs, rows, strict=True)
        ]

    def _translated(self, rows: list[list[str]], limit: int) -> list[Any]:
        found: list[Any] = self.library().translate_batch(
            rows,
            use_vmap=self.shortlist is not None,
            beam_size=self.search.beam,
            num_hypotheses=self.search.beam,
            length_penalty=self.search.alpha,
            return_end_token=True,
            return_scores=True,
            max_input_length=0,
            min_decoding_length=0,
            max_decoding_length=limit,
        )
        return found

    def _is_listed(self, outputs: Any, row: list[str]) -> bool:
        """Is all that was said in the line's own shortlist?"""
        said = self._ids(outputs.hypotheses[0], self._target_ids)
        return self.shortlist is None or self.shortlist.has(self._ids(row, self._source_ids), said)

    def _cut(self, outputs: Any, limit: int) -> Best | None:
        """What came to its limit with a shortlist; of a beam, None: END has no score in its list."""
        cut = [*outputs.hypotheses[0][:limit], self._target_names[END]]
        return Best(cut, outputs.scores[0]) if self.search.beam == 1 else None

    def _ids(self, names: Sequence[str], numbers: Mapping[str, int]) -> list[int]:
        return [numbers[name] for name in names]

    def _has_marks(self, hypotheses: list[list[str]]) -> bool:
        """Does one say a mark that ours never says? (Were it forbidden, the others would have its probability.)"""
        pad, begin, _ = self._target_names[:FIRST_PIECE]
        return any(pad in names or begin in names for names in hypotheses)

    def _written(self, window: Window, found: Mapping[int, Best]) -> dict[int, Translation]:
        """Names as text, all at once."""
        ids = self._target_ids
        texts = self.described.target.decode([ids[name] for name in best.names] for best in found.values())
        return {
            place: Translation(
                window.lines[place],
                (Alternative(one_line(text), best.rank * len(best.names) ** self.search.alpha, (), (), finished=True),),
                cut=window.cut[place],
            )
            for text, (place, best) in zip(texts, found.items(), strict=True)
        }


def workers_here() -> int:
    """As many as there are cores for us; OMP_NUM_THREADS says otherwise, as it does to torch."""
    told = os.environ.get("OMP_NUM_THREADS", "")
    if told.isdecimal() and int(told):
        return int(told)
    return len(os.sched_getaffinity(0)) if sys.platform == "linux" else os.cpu_count() or 1
