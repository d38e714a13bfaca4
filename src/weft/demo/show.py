"""Held-out examples for a person to read."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence

from weft.corpora.splits import Example
from weft.data.hashes import hash_lines

COLUMNS = 100


def pick(test: Sequence[Example], lengths: Sequence[int], *, by_letters: bool) -> list[Example]:
    """For each length one example, rather one with several targets; which, a hash decides."""
    chosen = []
    for length in lengths:
        fitting = [one for one in test if len(one.source if by_letters else one.source.split()) == length]
        several = [one for one in fitting if len(one.targets) > 1] or fitting
        chosen += sorted(several, key=lambda one: int(hash_lines([one.source])[0]))[:1]
    return chosen


def show_example(example: Example, output: str) -> None:
    """The source, what the model made of it, and what people did."""
    print()
    print_wrapped("source", example.source)
    print_wrapped("Weft", output or "(nothing)")
    print_wrapped("people", " / ".join(example.targets[:3]))


def print_wrapped(label: str, text: str) -> None:
    print(textwrap.fill(text, COLUMNS, initial_indent=f"{label:<9}", subsequent_indent=" " * 9))


def heading(text: str) -> None:
    print(f"\n{text}\n{'-' * len(text)}", flush=True)
