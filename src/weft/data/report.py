"""What is known of the data before the first step: one table, and the same as JSON."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from weft.data.cache import TokenCache
from weft.data.filters import REASONS
from weft.data.hashes import count_known
from weft.data.keeping import kept_count
from weft.data.tally import SideTally

SIDE = ("tokens", "mean length", "unknown", "bytes")
DROPPED = "dropped: "
LINE_REASONS = ("empty", "duplicate", "too long")  # one side has no ratio


@dataclass(frozen=True)
class SideReport:
    """One side of the kept pairs: tokens, tokens a line, and the shares (0 to 1) that are unknown or single bytes."""

    tokens: int
    mean_length: float
    unknown_share: float
    byte_share: float | None  # None: bytes do not stand in for the unknown


@dataclass(frozen=True)
class SplitReport:
    """One split. in_train: its pairs whose source line is also a source line of the training data (None: training).

    Of text of one side, these are lines that are also lines of the training data.
    """

    name: str
    read: int
    kept: int
    dropped: dict[str, int]
    source: SideReport
    target: SideReport
    in_train: int | None


@dataclass(frozen=True)
class Report:
    """All splits, training first."""

    splits: tuple[SplitReport, ...]

    @property
    def one_sided(self) -> bool:
        """No source anywhere: of pairs, those without one are dropped."""
        return not any(split.source.tokens for split in self.splits)


def make_report(train: TokenCache, others: Mapping[str, TokenCache]) -> Report:
    """Report on the training data and on the other splits by name."""
    rest = [_split(name, cache, _count_in_train(cache, train)) for name, cache in others.items()]
    return Report((_split("train", train, None), *rest))


def _count_in_train(cache: TokenCache, train: TokenCache) -> int:
    """All of the training data is looked through for this, so the number is kept beside the cache that it is about."""
    place = cache.folder / f"in-{train.folder.name}.json"
    return kept_count(place, lambda: count_known(cache.source_hashes, train.source_hashes))


def render(report: Report) -> str:
    """A plain text table: a row a number, a column a split."""
    rows = table(report)
    widths = [max(map(len, cells)) for cells in zip(*rows, strict=True)][1:]
    lines = []
    for number, (label, *cells) in enumerate(rows):
        again = label.startswith(DROPPED) and rows[number - 1][0].startswith(DROPPED)
        shown = " " * len(DROPPED) + label.removeprefix(DROPPED) if again else label
        right = "".join(f"  {cell:>{width}}" for cell, width in zip(cells, widths, strict=True))
        lines.append(f"{shown:<24}{right}")
    return "\n".join(lines)


def table(report: Report) -> list[list[str]]:
    """The cells of that table, the names of rows and columns among them."""
    labels = _line_labels() if report.one_sided else _pair_labels()
    columns = [_line_cells(split) if report.one_sided else _pair_cells(split) for split in report.splits]
    return [list(row) for row in zip(labels, *columns, strict=True)]


def _split(name: str, cache: TokenCache, in_train: int | None) -> SplitReport:
    tally = cache.tally
    sides = side_report(tally.source, tally.kept), side_report(tally.target, tally.kept)
    return SplitReport(name, tally.read, tally.kept, tally.dropped, *sides, in_train)


def side_report(side: SideTally, kept: int) -> SideReport:
    """Of so many pairs."""
    tokens = max(side.tokens, 1)
    byte_share = side.bytes / tokens if side.has_bytes else None
    return SideReport(side.tokens, side.tokens / kept, side.unknown / tokens, byte_share)


def _pair_labels() -> list[str]:
    sides = [f"{side} {what}" for side in ("source", "target") for what in SIDE]
    return [*_count_labels("pairs", REASONS), *sides, "source line is in train"]


def _line_labels() -> list[str]:
    return [*_count_labels("lines", LINE_REASONS), *SIDE, "line is in train"]


def _count_labels(unit: str, reasons: Sequence[str]) -> list[str]:
    return ["", f"{unit} read", *(DROPPED + reason for reason in reasons), f"{unit} kept"]


def _pair_cells(split: SplitReport) -> list[str]:
    sides = [*_side_cells(split.source), *_side_cells(split.target)]
    return [*_count_cells(split, REASONS), *sides, _in_train(split)]


def _line_cells(split: SplitReport) -> list[str]:
    return [*_count_cells(split, LINE_REASONS), *_side_cells(split.target), _in_train(split)]


def _count_cells(split: SplitReport, reasons: Sequence[str]) -> list[str]:
    return [split.name, f"{split.read:,}", *(f"{split.dropped[reason]:,}" for reason in reasons), f"{split.kept:,}"]


def _in_train(split: SplitReport) -> str:
    return "" if split.in_train is None else f"{split.in_train:,} ({split.in_train / split.kept:.1%})"


def _side_cells(side: SideReport) -> list[str]:
    byte_share = "-" if side.byte_share is None else f"{side.byte_share:.2%}"
    return [f"{side.tokens:,}", f"{side.mean_length:.1f}", f"{side.unknown_share:.2%}", byte_share]
