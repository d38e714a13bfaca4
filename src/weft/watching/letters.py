"""Text of any kind in cells of a terminal."""

from __future__ import annotations

import textwrap

from rich.cells import cell_len, set_cell_size

from weft.check.showing import visible


def cut(text: str, width: int) -> str:
    """In so many cells at most. Nothing can reach the terminal but what can be printed, whatever the text holds."""
    shown = visible(text[: width + 1])
    return shown if cell_len(shown) <= width else set_cell_size(shown, width - 1).rstrip() + "…"


def wrapped(text: str, width: int, most: int) -> list[str]:
    """So many lines at most, of so many letters, broken between words."""
    return textwrap.wrap(visible(text), max(2, width), max_lines=most, placeholder=" …", break_on_hyphens=False)
