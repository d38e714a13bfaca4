"""Markdown tables, and their insertion into a page between two markers."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from weft.core.errors import UserError
from weft.core.files import write_atomically

BEGIN, END = "<!-- figures -->\n", "<!-- end of figures -->\n"


def table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [header, ["---"] * len(header), *rows]
    return "".join("| " + " | ".join(line) + " |\n" for line in lines)


def read_page(path: Path) -> tuple[str, str]:
    """Return the text before the BEGIN marker and the text after the END marker."""
    if not path.is_file():
        raise UserError(f"{path}: there is no such file; give a page that has a place for figures")
    before, begin, rest = path.read_text("utf-8").partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        markers = f"the lines {BEGIN.strip()} and {END.strip()}"
        raise UserError(f"{path}: figures go between {markers}; write these into it first")
    return before, after


def write_page(path: Path, figures: str) -> None:
    """Replace the figures in a page."""
    before, after = read_page(path)
    write_atomically(path, (before + BEGIN + figures + END + after).encode())
