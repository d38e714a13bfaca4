"""`weft recipes` and `weft show`: list recipes, show one with its defaults, or show a model."""

from pathlib import Path
from typing import Annotated

import typer

from weft.cli.options import OutputOption, OverridesArgument, print_result
from weft.core.errors import UserError


def recipes(
    name: Annotated[str | None, typer.Argument(metavar="[NAME]", help="Print this recipe instead of the list.")] = None,
) -> None:
    """List the recipes that `weft train NAME` finds by name, or print one of them to copy and edit."""
    from rich.console import Console
    from rich.table import Table

    from weft.config.recipe_catalog import find_recipe, list_recipes

    if name is not None:
        print(find_recipe(name).read_text("utf-8"), end="")
        return
    table = Table("name", "what it trains", box=None, pad_edge=False, show_edge=False)
    for recipe, summary in list_recipes().items():
        table.add_row(recipe, summary)
    Console().print(table)
    print("\nTrain one with: weft train NAME data.folder=PATH --out FOLDER. Print one with: weft recipes NAME")


def show(
    target: Annotated[
        Path | None, typer.Argument(metavar="RECIPE|RUN", help="A recipe, or a run or model folder.")
    ] = None,
    overrides: OverridesArgument = None,
    schema: Annotated[bool, typer.Option("--schema", help="Print the JSON schema of recipes, for editors.")] = False,
    output: OutputOption = None,
) -> None:
    """Show a recipe with all its defaults, or a model with its settings and scores."""
    from weft.core.files import check_result_file
    from weft.inference.model_summary import describe_model, describe_recipe, describe_schema

    if schema and target is not None:
        raise UserError(f"--schema describes all recipes: omit {target}")
    if schema:
        print_result(describe_schema(), output)
    elif target is None:
        raise UserError("There is nothing to show. Use weft show RECIPE, weft show RUN or weft show --schema")
    elif target.is_dir() and overrides:
        raise UserError(f"{target} is a model, whose settings are fixed: omit {overrides[0]}")
    else:
        check_result_file(output, [target])
        print_result(describe_model(target) if target.is_dir() else describe_recipe(target, overrides or []), output)
