"""`weft translate` as a process of its own."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

from benchmarks.files.clock import Turn, timed

from weft.core.errors import UserError
from weft.data.text_files import read_lines


def first_lines(file: Path, count: int, into: Path) -> list[str]:
    """The first lines of a file, written to another one; those that are blank are left out."""
    lines = [line for _, line in zip(range(count), read_lines(file), strict=False) if line.strip()]
    if not lines:
        raise UserError(f"{file}: there is no line to translate in it")
    into.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return lines


def translate(model: Path, source: Path, output: Path, options: Sequence[str], threads: int) -> Turn:
    """From file to file; as many lines must come out as go in."""
    command = [sys.executable, "-m", "weft", "translate", str(model), str(source), "--output", str(output), *options]
    turn = timed("weft translate", command, threads)
    given, found = (sum(1 for _ in read_lines(file)) for file in (source, output))
    if given != found:
        raise UserError(f"weft translate gave {found} lines for {given}")
    return turn
