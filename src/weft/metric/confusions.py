"""Which words are most often put for which, left out, or added."""

from collections import Counter
from typing import NamedTuple

from weft.metric.distance import UNIT, align
from weft.metric.edits import nearest
from weft.metric.lines import Lines, Options
from weft.metric.sacre import words


class Confusion(NamedTuple):
    """A word of the reference and what stands in its place; "": nothing does, or nothing should."""

    wanted: str
    written: str
    times: int


def confusions(lines: Lines, options: Options, most: int) -> list[Confusion]:
    """The commonest, of equally common ones in the order of the alphabet."""
    split, compared = words(options), lines.folded(options)
    found: Counter[tuple[str, str]] = Counter()
    for line, row in zip(compared.hypotheses, compared.references, strict=True):
        reference = nearest(line, row, split)
        found.update(
            (edit.source or "", edit.target or "")
            for edit in align(split(reference), split(line), UNIT)
            if edit.kind != "keep"
        )
    ordered = sorted(found.items(), key=lambda item: (-item[1], item[0]))
    return [Confusion(*pair, times) for pair, times in ordered[:most]]
