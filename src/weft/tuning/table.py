"""Before and after, on new data and at home, for people and for programs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from weft.metric.render import align
from weft.tuning.recipe import counted_pairs

Records = Mapping[str, Sequence[Mapping[str, Any]]]  # scores, by what they were measured on


def render(before: Records, after: Records, corpora: Mapping[str, str], mix: float) -> str:
    """A block for each corpus: its scores before and after, and how they changed."""
    told = f"mixed in: {counted_pairs(mix)} for every new one" if mix else "no old pairs were mixed in"
    lines = [told]
    for name, corpus in corpora.items():
        rows = [row(*pair) for pair in zip(before[name], after[name], strict=True)]
        lines += ["", *align([[f"{name}: {corpus}", "before", "after", "change", ""], *rows])]
    return "\n".join(lines)


def row(before: Mapping[str, Any], after: Mapping[str, Any]) -> list[str]:
    change = after["value"] - before["value"]
    gained = change > 0 if after["better"] == "higher" else change < 0
    word = "" if abs(change) < 0.005 else "better" if gained else "worse"
    return [str(after["name"]), spoken(before), spoken(after), f"{change:+.2f}", word]


def spoken(score: Mapping[str, Any]) -> str:
    """With half of its interval."""
    interval = score.get("interval")
    half = "" if interval is None else f" ± {(interval['high'] - interval['low']) / 2:.2f}"
    return f"{score['value']:.2f}{half}"
