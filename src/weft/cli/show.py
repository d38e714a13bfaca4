"""`weft show`: show a recipe or model."""

from pathlib import Path
from typing import Annotated

import typer

from weft.cli.options import OverridesArgument
from weft.core.errors import UserError


def show(
    target: Annotated[
        Path | None, typer.Argument(metavar="RECIPE|RUN", help="A recipe, or a run or model folder.")
    ] = None,
    overrides: OverridesArgument = None,
    schema: Annotated[bool, typer.Option("--schema", help="Print the JSON schema of recipes, for editors.")] = False,
) -> None:
    """Show a recipe with all its defaults, or a model with its settings and scores."""
    from weft.inference.model_summary import describe_model, describe_recipe, describe_schema

    if schema and target is not None:
        raise UserError(f"--schema describes all recipes: omit {target}")
    if schema:
        print(describe_schema())
    elif target is None:
        raise UserError("There is nothing to show. Use weft show RECIPE, weft show RUN or weft show --schema")
    elif target.is_dir() and overrides:
        raise UserError(f"{target} is a model, whose settings are fixed: omit {overrides[0]}")
    else:
        print(describe_model(target) if target.is_dir() else describe_recipe(target, overrides or []))
