"""`weft recipes`: list the recipes of the package."""

from typing import Annotated

import typer


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
    for entry in list_recipes():
        table.add_row(entry.name, entry.summary)
    Console().print(table)
    print("\nTrain one with: weft train NAME data.folder=PATH --out FOLDER. Print one with: weft recipes NAME")
