"""How every benchmark ends: the figures as JSON where a person wants them, a mistake told in one line."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any, TypeAlias

import typer

from weft.core.errors import UserError
from weft.core.files import write_atomically

JsonFile: TypeAlias = Annotated[Path | None, typer.Option("--json", help="Write the figures here as well.")]


def write_json(path: Path | None, figures: Any) -> None:
    """Nothing, where no file was asked for."""
    if path is not None:
        write_atomically(path, (json.dumps(figures, indent=2) + "\n").encode())


def run_command(main: Callable[..., None], name: str) -> None:
    """`main` as a command of this name, with its options read from its signature."""
    try:
        typer.run(main)
    except UserError as error:
        sys.exit(f"{name}: {error}")
