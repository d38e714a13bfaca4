"""Read the files of Multi30k."""

from __future__ import annotations

from pathlib import Path

from weft.data.text_files import read_lines
from weft.metrics.references import read_references


def read_split(folder: Path, split: str, source: str, target: str) -> tuple[list[str], list[str]]:
    """Return the source and target lines of a split such as `val`; languages are file endings such as `de`."""
    source_file = folder / f"{split}.{source}"
    sources = list(read_lines(source_file))
    references = [line for (line,) in read_references([folder / f"{split}.{target}"], len(sources), source_file)]
    return sources, references
