"""Exact match, and what must be changed in an output to make the reference of it: words or characters."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from importlib.metadata import version
from typing import NamedTuple

import numpy as np

from weft.metric.counts import Counts, Numbers, percent
from weft.metric.lines import Lines, Options, signature


class Edits(NamedTuple):
    """How a reference becomes an output: its units that are kept, those replaced or left out, and what was added."""

    kept: int
    substituted: int
    deleted: int
    inserted: int

    def cost(self) -> int:
        return self.substituted + self.deleted + self.inserted

    def length(self) -> int:
        """Of the reference."""
        return self.kept + self.substituted + self.deleted


def exact(lines: Lines, options: Options) -> Counts:
    """The share of lines that equal one of their references, in percent."""
    compared = lines.folded(options)
    equal = [line in row for line, row in zip(compared.hypotheses, compared.references, strict=True)]
    rows = np.array([[float(same), 1.0] for same in equal])
    signed = signature(lines, options, f"weft:{version('weft')}")
    return Counts(rows, lambda total: percent(total[0], total[1]), signed, ("equal", "lines"))


def wer(lines: Lines, options: Options) -> Counts:
    """Word error rate: edits per hundred words of the references; words are what white space separates."""
    return _error_rate(_Rate(str.split, in_order, "rapidfuzz"), lines, options)


def cer(lines: Lines, options: Options) -> Counts:
    """Character error rate: edits per hundred characters (Unicode code points, spaces included) of the references."""
    return _error_rate(_Rate(list, in_order, "rapidfuzz"), lines, options)


def per(lines: Lines, options: Options) -> Counts:
    """Position-independent error rate (Tillmann et al. 1997): word error rate, whatever the order of the words."""
    return _error_rate(_Rate(str.split, in_any_order, "weft"), lines, options)


def in_order(output: Sequence[str], reference: Sequence[str]) -> Edits:
    """The fewest edits, by rapidfuzz; which of equally few ways, is its choice."""
    from rapidfuzz.distance import Levenshtein

    kinds = Counter(step.tag for step in Levenshtein.editops(reference, output))
    kept = len(reference) - kinds["replace"] - kinds["delete"]
    return Edits(kept, kinds["replace"], kinds["delete"], kinds["insert"])


def in_any_order(output: Sequence[str], reference: Sequence[str]) -> Edits:
    """max(lengths) - |words in common| edits: as many substitutions as possible, the rest left out or added."""
    kept = (Counter(output) & Counter(reference)).total()
    substituted = min(len(output), len(reference)) - kept
    deleted, inserted = len(reference) - kept - substituted, len(output) - kept - substituted
    return Edits(kept, substituted, deleted, inserted)


def nearest(output: str, references: Sequence[str], units: Callable[[str], list[str]]) -> str:
    """The reference that needs the fewest edits, of equally near ones the longest."""
    return min(references, key=lambda reference: _rank(in_order(units(output), units(reference))))


def _rank(edits: Edits) -> tuple[int, int]:
    return edits.cost(), -edits.length()


class _Rate(NamedTuple):
    """What is counted: units of a line, by a function of an output and a reference; and the package that does it."""

    units: Callable[[str], list[str]]
    compare: Callable[[Sequence[str], Sequence[str]], Edits]
    package: str


def _error_rate(rate: _Rate, lines: Lines, options: Options) -> Counts:
    """100 x total edits / total length of the references, where the nearest of several references counts."""
    compared = lines.folded(options)
    rows = np.array(
        [
            min((rate.compare(rate.units(line), rate.units(reference)) for reference in row), key=_rank)
            for line, row in zip(compared.hypotheses, compared.references, strict=True)
        ],
        dtype=np.float64,
    )
    signed = signature(lines, options, f"{rate.package}:{version(rate.package)}")
    return Counts(rows, _rate, signed, Edits._fields)


def _rate(total: Numbers) -> float:
    """As TER has it: against references without any word, a perfect output has 0 and any other 100."""
    kept, substituted, deleted, inserted = total.tolist()
    edits = substituted + deleted + inserted
    return percent(edits, kept + substituted + deleted, 100.0 if edits else 0.0)
