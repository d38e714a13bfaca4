"""The CTranslate2 backend: Transformers on a CPU, several times as fast as torch, without importing torch.

Lines are translated in windows, longest first, by one worker per core, while the next window is read and tokenized.
A line that reaches its length limit is searched again so that EOS is scored as in our own searches; one that could
still differ goes to torch.
"""

from __future__ import annotations

import os
import platform
import sys
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain, islice
from math import isfinite
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import ctranslate2

from weft.checkpoints.model_folder import ModelFolder
from weft.core.codec import Codec
from weft.core.special_tokens import NUM_SPECIAL_TOKENS
from weft.data.text_files import replace_line_breaks
from weft.decoding.constraints.request import Request
from weft.inference.backends import batch_by_length
from weft.inference.capabilities import CTranslate2Precision, CTranslate2Search
from weft.inference.export.ctranslate2_converter import WeightBits, convert_to_ctranslate2, token_names
from weft.inference.text_translator import source_language
from weft.inference.translation import EMPTY_OUTPUT, Alternative, Translation
from weft.text.lexical_shortlist import Shortlist
from weft.text.sentences import SentenceSplitter
from weft.text.tokenizer import Tokenizer

BATCH_TOKENS = 512  # padding included; the activations of larger batches do not fit into the processor's cache
LIMIT_BATCH_SIZE = 16  # lines at their length limit that are searched, or outputs that are scored, by one worker
SEARCH_OPTIONS = {"return_end_token": True, "return_scores": True, "max_input_length": 0, "min_decoding_length": 0}
VNNI_FLAGS = frozenset(("avx512_vnni", "avx_vnni"))  # int8 products are added in 32 bits
ARM_MACHINES = ("aarch64", "arm64")  # here too
CPU_INFO_FILE = Path("/proc/cpuinfo")


class RankedOutput(NamedTuple):
    """The tokens of an output, EOS last, and score / length^alpha."""

    tokens: list[str]
    ranking_score: float


OutputsByRow = dict[int, RankedOutput | None]  # by row of a window; None if torch might find another output


class LineWindow(NamedTuple):
    """Lines, and their outputs, batch by batch; blank lines are in no batch."""

    lines: list[str]
    truncated: list[bool]
    outputs: list[Future[OutputsByRow]]


@dataclass(frozen=True)
class CTranslate2Backend:
    """A converted model with a search that torch and CTranslate2 have in common.

    library: opens CTranslate2's translator at its first call. fallback: translates single lines with torch.
    """

    model: ModelFolder
    search: CTranslate2Search
    library: Callable[[], Any]
    fallback: Callable[[Sequence[str]], list[Translation]]
    buffer_size: int
    concurrency: int
    shortlist: Shortlist | None = None

    @property
    def source_codec(self) -> Codec:
        return self.model.source

    @property
    def target_tokenizer(self) -> Tokenizer:
        return self.model.target

    def max_source_length(self) -> int:
        return self.model.max_source_length

    def sentence_splitter(self, language: str | None) -> SentenceSplitter | None:
        splits = bool(self.model.config["translate"]["split_sentences"])
        return SentenceSplitter(language or source_language(self.model.config["data"])) if splits else None

    def unbuffered(self) -> CTranslate2Backend:
        return replace(self, buffer_size=1)

    def stream(self, lines: Iterable[str | Request]) -> Iterator[Translation]:
        """Translate lines as they are read; unless unbuffered, one window ahead."""
        texts, pending = (Request.of(line).text for line in lines), deque[LineWindow]()
        pool = ThreadPoolExecutor(self.concurrency + 1, "weft-batch")  # so that a batch is always ready for a worker
        try:
            while window := list(islice(texts, self.buffer_size)):
                pending.append(self._start(window, pool))
                if len(pending) > 1 or self.buffer_size == 1:
                    yield from self._finish(pending.popleft())
            while pending:
                yield from self._finish(pending.popleft())
        finally:
            pool.shutdown(cancel_futures=True)

    @cached_property
    def _source_names(self) -> list[str]:
        return token_names(self.model.source_tokenizer)

    @cached_property
    def _source_ids(self) -> dict[str, int]:
        return {name: number for number, name in enumerate(self._source_names)}

    @cached_property
    def _target_names(self) -> list[str]:
        return token_names(self.model.target)

    @cached_property
    def _target_ids(self) -> dict[str, int]:
        return {name: number for number, name in enumerate(self._target_names)}

    def _start(self, lines: list[str], pool: Executor) -> LineWindow:
        limit, names = self.model.max_source_length, self._source_names
        ids = [row.tolist() for row in self.model.source.encode_rows(lines).split()]
        tokens = [[names[number] for number in row[:limit]] for row in ids]
        rows = (row for row, line in enumerate(lines) if line.strip())
        one_by_one = self.shortlist is not None and self.search.beam > 1
        batches = batch_by_length(rows, tokens, 1 if one_by_one else BATCH_TOKENS)
        outputs = [pool.submit(self._find, batch, [tokens[row] for row in batch]) for batch in batches]
        return LineWindow(lines, [len(row) > limit for row in ids], outputs)

    def _finish(self, window: LineWindow) -> list[Translation]:
        outputs = {row: output for batch in window.outputs for row, output in batch.result().items()}
        found = {row: output for row, output in outputs.items() if output is not None}
        done = {row: Translation(line, (EMPTY_OUTPUT,)) for row, line in enumerate(window.lines) if not line.strip()}
        ids = self._target_ids
        texts = self.model.target.decode([ids[token] for token in output.tokens] for output in found.values())
        for text, (row, output) in zip(texts, found.items(), strict=True):
            score = output.ranking_score * len(output.tokens) ** self.search.alpha
            best = Alternative(replace_line_breaks(text), score, (), (), finished=True)
            done[row] = Translation(window.lines[row], (best,), truncated=window.truncated[row])
        undecided = [row for row in outputs if row not in found]
        if undecided:
            done |= zip(undecided, self.fallback([window.lines[row] for row in undecided]), strict=True)
        return [done[row] for row in range(len(window.lines))]

    def _find(self, rows: list[int], sources: list[list[str]]) -> OutputsByRow:
        """The best outputs of a batch. rows: of the sources in their window."""
        outputs, at_limit = OutputsByRow(), dict[int, tuple[list[str], int]]()
        pad, bos, end = self._target_names[:NUM_SPECIAL_TOKENS]
        limits = {length: self.model.max_output_length(length + 1) for length in set(map(len, sources))}
        found = self._search(sources, max(limits.values()))
        for row, source, result in zip(rows, sources, found, strict=True):
            limit = limits[len(source)]
            reaches_limit = any(len(tokens) > limit or tokens[-1:] != [end] for tokens in result.hypotheses)
            has_excluded = not {pad, bos}.isdisjoint(chain(*result.hypotheses))
            if has_excluded or not isfinite(result.scores[0]):
                outputs[row] = None  # our searches exclude PAD and BOS without renormalizing
            elif not reaches_limit:
                outputs[row] = RankedOutput(result.hypotheses[0], result.scores[0])
            elif self.shortlist is None:
                at_limit[row] = source, limit
            elif self.search.beam == 1:
                outputs[row] = RankedOutput([*result.hypotheses[0][:limit], end], result.scores[0])
            else:
                outputs[row] = None  # EOS may not be in the shortlist, so that it has no score
        ended = search_to_limit(self.library(), list(at_limit.values()), self.search, end) if at_limit else []
        return outputs | dict(zip(at_limit, ended, strict=True))

    def _search(self, sources: list[list[str]], limit: int) -> list[Any]:
        """The result of each source.

        In CTranslate2 the lines of a batch share their shortlists. Greedy search finds the same tokens as with a line's
        own list if all of them are in that list; otherwise the line is searched again, alone. The scores of a beam
        search depend on the whole list, so that its batches have one line.
        """
        results = self._search_batch(sources, limit)
        if self.shortlist is None or len(sources) == 1:
            return results
        for number, source in enumerate(sources):
            source_ids = [self._source_ids[token] for token in source]
            target_ids = [self._target_ids[token] for token in results[number].hypotheses[0]]
            if not self.shortlist.covers(source_ids, target_ids):
                [results[number]] = self._search_batch([source], limit)
        return results

    def _search_batch(self, sources: list[list[str]], limit: int) -> list[Any]:
        results: list[Any] = self.library().translate_batch(
            sources,
            use_vmap=self.shortlist is not None,
            beam_size=self.search.beam,
            num_hypotheses=self.search.beam,
            length_penalty=self.search.alpha,
            max_decoding_length=limit,
            **SEARCH_OPTIONS,
        )
        return results


def search_to_limit(
    library: Any, lines: Sequence[tuple[list[str], int]], search: CTranslate2Search, end: str
) -> list[RankedOutput | None]:
    """Search lines, given with their length limits, so that an output at the limit ends with EOS, and its score counts,
    as in our searches; None if the best output cannot be determined.

    CTranslate2 stops at the limit without EOS. But its live beam does not depend on which hypotheses have finished, so
    that with patience 2 (which continues until twice as many have finished as the beam has hypotheses, never reached
    here) it returns all finished hypotheses and all that are live at the limit. Scoring gives the probability of EOS
    after the live ones.
    """
    results = _search_by_limit(library, lines, search)
    outputs = [[RankedOutput(*pair) for pair in zip(one.hypotheses, one.scores, strict=True)] for one in results]
    live = [_unfinished(few, search.beam, end) for few in outputs]
    pairs = [(source, one.tokens) for (source, _), few in zip(lines, live, strict=True) for one in few]
    scored = _score_with_end(library, pairs, search.alpha, end)
    ended = [list(islice(scored, len(few))) for few in live]
    rows = zip(lines, outputs, ended, strict=True)
    return [_best_output(limit, few, new, search, end) for (_, limit), few, new in rows]


def _search_by_limit(library: Any, lines: Sequence[tuple[list[str], int]], search: CTranslate2Search) -> list[Any]:
    """The result of each line; lines with the same limit are searched together."""
    results = dict[int, Any]()
    for limit in dict.fromkeys(limit for _, limit in lines):
        rows = [row for row, (_, own_limit) in enumerate(lines) if own_limit == limit]
        found = library.translate_batch(
            [lines[row][0] for row in rows],
            max_batch_size=LIMIT_BATCH_SIZE,
            beam_size=search.beam,
            patience=2,
            num_hypotheses=2 * search.beam if search.beam > 1 else 1,
            length_penalty=search.alpha,
            max_decoding_length=limit,
            **SEARCH_OPTIONS,
        )
        results |= zip(rows, found, strict=True)
    return [results[row] for row in range(len(lines))]


def _unfinished(outputs: list[RankedOutput], beam: int, end: str) -> list[RankedOutput]:
    """The outputs without EOS; none if `beam` others have finished, which ends the search."""
    live = [output for output in outputs if output.tokens[-1:] != [end]]
    return live if len(outputs) - len(live) < beam else []


def _score_with_end(
    library: Any, pairs: list[tuple[list[str], list[str]]], alpha: float, end: str
) -> Iterator[RankedOutput]:
    """Append EOS to outputs of sources."""
    if pairs:
        sources, outputs = map(list, zip(*pairs, strict=True))
        scored = library.score_batch(sources, outputs, max_input_length=0, max_batch_size=LIMIT_BATCH_SIZE)
        for tokens, result in zip(outputs, scored, strict=True):
            yield RankedOutput([*tokens, end], sum(result.log_probs) / (len(tokens) + 1) ** alpha)


def _best_output(
    limit: int, outputs: list[RankedOutput], ended: list[RankedOutput], search: CTranslate2Search, end: str
) -> RankedOutput | None:
    """The best of the finished outputs and of those that EOS has ended; None if it cannot be determined.

    For each of the first K candidates of the last step that is EOS, our search continues another hypothesis, which
    CTranslate2 does not return. It is no more probable than the last of the first K, and EOS does not make it more
    probable; the result is unknown if it could still exceed the best.
    """
    finished = [output for output in outputs if output.tokens[-1:] == [end]]
    best = max([*finished, *ended], key=lambda output: output.ranking_score)
    last = min((output.ranking_score for output in outputs if len(output.tokens) == limit), default=0.0)
    bound = last * (limit / (limit + 1)) ** search.alpha
    is_known = len(finished) >= search.beam or len(ended) == search.beam or best.ranking_score >= bound
    return best if is_known and isfinite(best.ranking_score) else None


def open_ctranslate2(
    model: ModelFolder, precision: CTranslate2Precision, workers: int, shortlist: Shortlist | None
) -> Any:
    """Convert a model and open CTranslate2's translator, one thread per worker: two small products at once are faster
    than one on two cores.

    Opening it limits the calling thread to one OpenMP thread, for torch too, so that a thread of its own does it.
    """

    def convert_and_open() -> Any:
        with TemporaryDirectory(prefix="weft-") as folder:
            convert_to_ctranslate2(model, Path(folder), precision, shortlist, int8_weight_bits())
            return ctranslate2.Translator(
                folder,
                device="cpu",
                compute_type=precision,
                inter_threads=workers,
                intra_threads=1,
                max_queued_batches=-1,
            )

    with ThreadPoolExecutor(1) as thread:
        return thread.submit(convert_and_open).result()


def worker_count() -> int:
    """The number of available cores, or OMP_NUM_THREADS, as for torch."""
    threads = os.environ.get("OMP_NUM_THREADS", "")
    if threads.isdecimal() and int(threads):
        return int(threads)
    return len(os.sched_getaffinity(0)) if sys.platform == "linux" else os.cpu_count() or 1


def int8_weight_bits() -> WeightBits:
    """8 if int8 products cannot overflow on this processor, otherwise 7."""
    if platform.machine().lower() in ARM_MACHINES:
        return 8
    try:
        lines = CPU_INFO_FILE.read_text("utf-8", "replace").splitlines()
    except OSError:  # not on this system
        return 7
    flags = next((line for line in lines if line.startswith("flags")), "")  # of the first core
    return 8 if VNNI_FLAGS & set(flags.partition(":")[2].split()) else 7
