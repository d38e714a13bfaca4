"""Data report: statistics of all splits before the first training step, as a table and as JSON."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from weft.data.checks.pair_problems import SampledProblems
from weft.data.checks.problem_kinds import PROBLEM_KINDS
from weft.data.data_config import DROP_REASONS
from weft.data.hashes import known_mask
from weft.data.token_cache import SideStatistics, TokenCache

DROPPED_PREFIX = "dropped: "


@dataclass(frozen=True)
class SideReport:
    """One side of the pairs kept: tokens, tokens per line, and shares (0 to 1); byte_share: None without fallback."""

    tokens: int
    mean_length: float
    unknown_share: float
    byte_share: float | None

    def cells(self) -> dict[str, str]:
        return {
            "tokens": f"{self.tokens:,}",
            "mean length": f"{self.mean_length:.1f}",
            "unknown": f"{self.unknown_share:.2%}",
            "bytes": "-" if self.byte_share is None else f"{self.byte_share:.2%}",
        }


@dataclass(frozen=True)
class SplitReport:
    """One split. train_overlap: its pairs whose source is also in the training data (None: training).

    Of monolingual text, these are lines that are also in the training data.
    """

    name: str
    pairs_read: int
    pairs_kept: int
    dropped: dict[str, int]
    source: SideReport
    target: SideReport
    train_overlap: int | None


@dataclass(frozen=True)
class DataReport:
    """All splits, training first."""

    splits: tuple[SplitReport, ...]

    @property
    def monolingual(self) -> bool:
        """No split has a source: pairs without one would have been dropped."""
        return not any(split.source.tokens for split in self.splits)


def make_data_report(train: TokenCache, others: Mapping[str, TokenCache]) -> DataReport:
    reports = [_make_split_report("train", train, None)]
    for name, cache in others.items():
        is_in_train = known_mask(cache.source_hashes, train.source_hashes)
        reports.append(_make_split_report(name, cache, int(is_in_train.sum())))
    return DataReport(tuple(reports))


def _make_split_report(name: str, cache: TokenCache, train_overlap: int | None) -> SplitReport:
    found = cache.statistics
    sides = make_side_report(found.source, found.pairs_kept), make_side_report(found.target, found.pairs_kept)
    return SplitReport(name, found.pairs_read, found.pairs_kept, found.dropped, *sides, train_overlap)


def make_side_report(side: SideStatistics, pairs: int) -> SideReport:
    tokens = max(side.tokens, 1)
    byte_share = side.byte_tokens / tokens if side.has_byte_fallback else None
    return SideReport(side.tokens, side.tokens / pairs, side.unknown_tokens / tokens, byte_share)


def render_data_report(report: DataReport) -> str:
    """Return a plain text table, in which "dropped:" is written before the first reason only."""
    rows = data_report_rows(report)
    _, *others = (row for row in rows if row[0].startswith(DROPPED_PREFIX))
    for row in others:
        row[0] = row[0].replace(DROPPED_PREFIX, " " * len(DROPPED_PREFIX))
    return "\n".join(align_columns(rows))


def align_columns(rows: Sequence[Sequence[str]]) -> list[str]:
    """Return each row as a line of text: a label, then the cells, aligned to the right."""
    widths = [max(map(len, cells)) for cells in zip(*rows, strict=True)][1:]
    return [
        f"{label:<24}" + "".join(f"  {cell:>{width}}" for cell, width in zip(cells, widths, strict=True))
        for label, *cells in rows
    ]


def data_report_rows(report: DataReport) -> list[list[str]]:
    """Return the cells of the table, including row labels and column heads."""
    columns = [_split_cells(split, monolingual=report.monolingual) for split in report.splits]
    return [[label, *(column[label] for column in columns)] for label in columns[0]]


def _split_cells(split: SplitReport, *, monolingual: bool) -> dict[str, str]:
    unit, reasons = ("lines", DROP_REASONS[:3]) if monolingual else ("pairs", DROP_REASONS)  # one side has no ratio
    cells = {"": split.name, f"{unit} read": f"{split.pairs_read:,}"}
    cells |= {DROPPED_PREFIX + reason: f"{split.dropped[reason]:,}" for reason in reasons}
    cells[f"{unit} kept"] = f"{split.pairs_kept:,}"
    sides = {"": split.target} if monolingual else {"source ": split.source, "target ": split.target}
    cells |= {prefix + label: cell for prefix, side in sides.items() for label, cell in side.cells().items()}
    overlap = split.train_overlap
    share = "" if overlap is None else f"{overlap:,} ({overlap / split.pairs_kept:.1%})"
    return cells | {"line is in train" if monolingual else "source line is in train": share}


def data_warnings(sample: SampledProblems) -> list[str]:
    """Return a warning for each serious kind of problem in the sample; empty sides are in the table already."""
    warnings = []
    for name, count in sample.counts.items():
        kind, share = PROBLEM_KINDS[name], count / sample.pairs
        if kind.serious is not None and share >= kind.serious and name != "empty":
            warnings.append(f"warning: {kind.title} in {share:.1%} of the training data: {kind.meaning}")
    return [*warnings, "weft check shows where; weft check --fix writes a cleaned copy"] if warnings else []
