"""The report of a data check: counts per problem kind, example lines, a text table and JSON."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from itertools import islice
from typing import Any

import numpy as np
from numpy.typing import NDArray

from weft.core.formatting import escape_unprintable
from weft.data.checks.corpus_rows import CorpusFiles, CorpusRow
from weft.data.checks.encodings import MOJIBAKE_PATTERN
from weft.data.checks.pair_problems import BOM_CHARACTER, CONTROL_PATTERN, REPLACEMENT_CHARACTER
from weft.data.checks.problem_kinds import PROBLEM_KINDS, Problem
from weft.data.data_report import SideReport, align_columns, make_side_report
from weft.data.hashes import blocks
from weft.data.token_cache import SideStatistics
from weft.text.span_patterns import SPAN_PATTERNS

MAX_EXAMPLES = 3
EXCERPT_WIDTH = 48
EXCERPT_CONTEXT = 12  # characters before the problem
LEAK_KINDS = Problem.LEAKED_SOURCE | Problem.LEAKED_PAIR
PROBLEM_PATTERNS = {
    "encoding": re.compile("[\ud800-\udfff]"),
    "control": CONTROL_PATTERN,
    "bom": re.compile(BOM_CHARACTER),
    "replacement": re.compile(REPLACEMENT_CHARACTER),
    "mojibake": MOJIBAKE_PATTERN,
    "numbers": re.compile(r"\d"),
    "markup": SPAN_PATTERNS["markup"],
}


@dataclass(frozen=True)
class ProblemExample:
    """Where a problem is, with excerpts of both sides."""

    file: str
    line: int
    source: str
    target: str


@dataclass(frozen=True)
class ProblemSummary:
    """One kind of problem in one corpus. share: of the pairs."""

    kind: str
    count: int
    share: float
    serious: bool
    examples: tuple[ProblemExample, ...]


@dataclass(frozen=True)
class CheckReport:
    """The problems of one corpus, of the kinds that were checked. source, target: tokens, if they were counted."""

    name: str
    pairs: int
    problems: tuple[ProblemSummary, ...]
    source: SideReport | None
    target: SideReport | None

    def find(self, kind: str) -> ProblemSummary | None:
        return next((problem for problem in self.problems if problem.kind == kind), None)

    def count(self, kind: str) -> int:
        problem = self.find(kind)
        return 0 if problem is None else problem.count


def summarize_problems(
    name: str,
    files: CorpusFiles,
    problems: NDArray[np.uint32],
    checked_kinds: int,
    tokens: tuple[SideStatistics, SideStatistics] | None,
) -> CheckReport:
    """Count the problems of the kinds that were checked, and read the first rows that have each kind again."""
    kinds = {name: kind.bit for name, kind in PROBLEM_KINDS.items() if kind.bit & checked_kinds}
    counts, first_rows = dict.fromkeys(kinds, 0), {kind: list[int]() for kind in kinds}
    for here, block in blocks(problems):
        for kind, bit in kinds.items():
            has_kind = (block & bit) != 0
            counts[kind] += int(np.count_nonzero(has_kind))
            first = np.flatnonzero(has_kind)[: MAX_EXAMPLES - len(first_rows[kind])]
            first_rows[kind] += (here.start + first).tolist()
    numbers = {number for rows in first_rows.values() for number in rows}
    rows = {
        number: row
        for number, row in enumerate(islice(files.rows(), max(numbers, default=-1) + 1))
        if number in numbers
    }
    summaries = []
    for kind, count in counts.items():
        share, limit = count / len(problems), PROBLEM_KINDS[kind].serious
        examples = tuple(_make_example(rows[number], kind) for number in first_rows[kind] if number in rows)
        is_serious = limit is not None and count > 0 and share >= limit
        summaries.append(ProblemSummary(kind, count, share, is_serious, examples))
    sides = (None, None) if tokens is None else tuple(make_side_report(side, len(problems)) for side in tokens)
    return CheckReport(name, len(problems), tuple(summaries), *sides)


def _make_example(row: CorpusRow, kind: str) -> ProblemExample:
    """Return excerpts of the pair, or of the lines of a row without a pair."""
    source, target = row.pair or (*(line.removesuffix("\r") for line in row.lines), "")[:2]
    return ProblemExample(str(row.shard.paths[0]), row.number, excerpt(source, kind), excerpt(target, kind))


def excerpt(line: str, kind: str) -> str:
    """Return a short part of a line around the first problem of this kind, with invisible characters escaped."""
    match = PROBLEM_PATTERNS[kind].search(line) if kind in PROBLEM_PATTERNS else None
    start = max(0, match.start() - EXCERPT_CONTEXT) if match is not None else 0
    end = start + EXCERPT_WIDTH
    text = f"{'...' if start else ''}{escape_unprintable(line[start:end])}{'...' if end < len(line) else ''}"
    if kind == "encoding" and match is not None and "\udc80" <= match[0] <= "\udcff":
        position = len(line[: match.start()].encode("utf-8", "surrogateescape")) + 1
        return f"{text} (byte 0x{ord(match[0]) - 0xDC00:02X} at position {position})"
    return text


def format_check_reports(corpora: Sequence[CheckReport]) -> str:
    """Return a table of kinds and corpora, then the meaning, remedy and first examples of the problems found."""
    rows = [["", *(corpus.name for corpus in corpora)], ["pairs", *(f"{corpus.pairs:,}" for corpus in corpora)]]
    for name, kind in PROBLEM_KINDS.items():
        rows.append([kind.title, *(_format_cell(corpus.find(name)) for corpus in corpora)])
    return "\n".join([*align_columns(rows), *_token_lines(corpora), *_explanations(corpora)])


def check_reports_to_json(corpora: Sequence[CheckReport]) -> dict[str, Any]:
    return {"serious": has_serious_problems(corpora, 0), "corpora": [asdict(corpus) for corpus in corpora]}


def has_serious_problems(corpora: Sequence[CheckReport], fixed: int) -> bool:
    """Whether a problem is serious and not fixed.

    fixed: bits of the kinds fixed in the training data, the first corpus; this also fixes leaks into the others.
    """
    return any(
        problem.serious and not PROBLEM_KINDS[problem.kind].bit & fixed & (LEAK_KINDS if index else -1)
        for index, corpus in enumerate(corpora)
        for problem in corpus.problems
    )


def _format_cell(problem: ProblemSummary | None) -> str:
    if problem is None:
        return "-"
    if not problem.count:
        return "0"
    return f"{'! ' if problem.serious else ''}{problem.count:,} ({problem.share:.1%})"


def _token_lines(corpora: Sequence[CheckReport]) -> Iterator[str]:
    for corpus in corpora:
        for name, side in (("source", corpus.source), ("target", corpus.target)):
            if side is not None:
                yield (
                    f"{corpus.name}, {name}: {side.tokens:,} tokens, {side.mean_length:.1f} per line, "
                    f"{side.unknown_share:.2%} unknown"
                )


def _explanations(corpora: Sequence[CheckReport]) -> Iterator[str]:
    for name, kind in PROBLEM_KINDS.items():
        problems = filter(None, (corpus.find(name) for corpus in corpora))
        examples = [example for problem in problems for example in problem.examples]
        if examples:
            yield f"\n{kind.title} ({name}): {kind.meaning}"
            yield "  " + "; ".join(filter(None, [kind.fix and f"--fix {kind.fix}", kind.advice]))
            for example in examples:
                sides = " | ".join(side for side in (example.source, example.target) if side)
                yield f"  {example.file}, line {example.line:,}: {sides}"
