"""Fewer points, and the same picture."""

from __future__ import annotations

from weft.store.run_log import Points


def thinned(curve: Points, parts: int) -> Points:
    """Of each of so many equal parts of the steps: the first point, the lowest, the highest and the last.

    So nothing that sticks out is lost, and where a part is as wide as a dot of the picture, the picture is the same.
    """
    if len(curve) <= 4 * parts:
        return curve
    first, last = curve[0][0], curve[-1][0]
    width = max(1, last - first + 1) / parts
    kept: Points = []
    begin = 0
    for part in range(1, parts + 1):
        end = begin
        while end < len(curve) and (part == parts or curve[end][0] < first + part * width):
            end += 1
        kept += outline(range(begin, end), curve)
        begin = end
    return kept


def outline(places: range, curve: Points) -> Points:
    """First, lowest, highest and last, in their order, each once."""
    if not places:
        return []
    lowest = min(places, key=lambda place: curve[place][1])
    highest = max(places, key=lambda place: curve[place][1])
    return [curve[place] for place in sorted({places[0], lowest, highest, places[-1]})]
