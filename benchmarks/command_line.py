"""Shared command-line parts of the benchmarks: options, progress messages, JSON output, error messages."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Annotated, Any, TypeAlias

import typer

from weft.core.errors import UserError
from weft.core.files import write_atomically

JsonFile: TypeAlias = Annotated[Path | None, typer.Option("--json", help="Also write the figures to this file.")]


def log(text: str) -> None:
    """Print progress to standard error; standard output holds only the figures."""
    print(text, file=sys.stderr, flush=True)


def parse_names(text: str, known: Sequence[str], kind: str) -> list[str]:
    """Split a comma-separated list and raise UserError for an unknown name; `kind` describes the names in the error."""
    names = [name.strip() for name in text.split(",")]
    for name in names:
        if name not in known:
            raise UserError(f"{name!r} is no {kind}: write some of {', '.join(known)}, with commas between them")
    return names


def write_json(path: Path | None, figures: Any) -> None:
    """Write the figures; do nothing if `path` is None."""
    if path is not None:
        write_atomically(path, (json.dumps(figures, indent=2) + "\n").encode())


def run_command(main: Callable[..., None], name: str) -> None:
    """Run `main` as a command of this name; a UserError becomes a one-line message and exit code 1."""
    try:
        typer.run(main)
    except UserError as error:
        sys.exit(f"{name}: {error}")
