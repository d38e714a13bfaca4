"""What was found as a table with explanations, and the same as JSON."""

from collections.abc import Iterator, Sequence
from dataclasses import asdict
from typing import Any

from weft.check.findings import Finding, Findings, Place
from weft.check.kinds import KINDS
from weft.data.kinds import LEAKED_PAIR, LEAKED_SOURCE, NAMES

LEAKS = LEAKED_SOURCE | LEAKED_PAIR
SERIOUS = "!"  # stands before a count


def render(corpora: Sequence[Findings]) -> str:
    """A row a kind, a column a corpus; then what was found: what it means, what to do, and where the first are."""
    columns = [[each.name, f"{each.pairs:,}", *(_cell(each.of(name)) for name in NAMES)] for each in corpora]
    labels = ["", "pairs", *(KINDS[kind].title for kind in NAMES.values())]
    widths = [max(map(len, cells)) for cells in columns]
    rows = [
        f"{label:<24}" + "".join(f"  {cell:>{width}}" for cell, width in zip(cells, widths, strict=True))
        for label, *cells in zip(labels, *columns, strict=True)
    ]
    return "\n".join([*rows, *_token_lines(corpora), *_explained(corpora)])


def as_json(corpora: Sequence[Findings]) -> dict[str, Any]:
    """The same, for programs."""
    return {"serious": has_serious(corpora, 0), "corpora": [asdict(each) for each in corpora]}


def has_serious(corpora: Sequence[Findings], fixed: int) -> bool:
    """Is there something serious? fixed: the kinds that have been dealt with in the training data, the first corpus.

    What is no longer in training leaks no more.
    """
    train, *others = corpora
    rest = [finding for other in others for finding in other.found if not NAMES[finding.kind] & fixed & LEAKS]
    return any(finding.serious for finding in [*(one for one in train.found if not NAMES[one.kind] & fixed), *rest])


def _cell(finding: Finding | None) -> str:
    if finding is None:
        return "-"
    if not finding.count:
        return "0"
    return f"{SERIOUS + ' ' if finding.serious else ''}{finding.count:,} ({finding.share:.1%})"


def _token_lines(corpora: Sequence[Findings]) -> Iterator[str]:
    for each in corpora:
        for name, side in (("source", each.source), ("target", each.target)):
            if side is not None:
                yield (
                    f"{each.name}, {name}: {side.tokens:,} tokens, {side.mean_length:.1f} a line, "
                    f"{side.unknown_share:.2%} unknown"
                )


def _explained(corpora: Sequence[Findings]) -> Iterator[str]:
    for name, kind in NAMES.items():
        found = [finding for each in corpora for finding in each.found if finding.kind == name]
        places = [place for finding in found for place in finding.places]
        if places:
            about = KINDS[kind]
            yield f"\n{about.title} ({name}): {about.meaning}"
            if about.fix:
                yield f"  --fix {about.fix}{'; ' + about.advice if about.advice else ''}"
            else:
                yield f"  {about.advice}"
            yield from (f"  {_told(place)}" for place in places)


def _told(place: Place) -> str:
    sides = " | ".join(side for side in (place.source, place.target) if side)
    return f"{place.file}, line {place.line:,}: {sides}"
