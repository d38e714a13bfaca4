"""weft show."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from weft.cli.options import Overrides
from weft.core.errors import UserError


def show(
    what: Annotated[
        Path | None, typer.Argument(metavar="RECIPE|RUN", help="A recipe, a run folder or a model folder.")
    ] = None,
    overrides: Overrides = None,
    schema: Annotated[
        bool, typer.Option("--schema", help="Print the JSON schema of recipes, for editors, instead.")
    ] = False,
) -> None:
    """Show what a recipe says with every default written out, or what a model is and how it did."""
    from weft.engine.describe import describe_model, describe_recipe, describe_schema

    if schema and what is not None:
        raise UserError(f"--schema shows what any recipe may hold: leave out {what}")
    if schema:
        print(describe_schema())
        return
    if what is None:
        raise UserError("Say what to show: weft show RECIPE, weft show RUN or weft show --schema")
    if what.is_dir() and overrides:
        raise UserError(f"{what} is a model, and is as it is: {overrides[0]} can only be set for a recipe.")
    print(describe_model(what) if what.is_dir() else describe_recipe(what, overrides or []))
