"""`weft distance`: edit distance with its table."""

from typing import Annotated

import typer


def distance(
    source: Annotated[str, typer.Argument(metavar="SOURCE", help="The string to edit, in quotation marks.")],
    target: Annotated[str, typer.Argument(metavar="TARGET", help="The result of the edits.")],
    insert: Annotated[float, typer.Option(min=0.0, help="The cost of an insertion.")] = 1.0,
    delete: Annotated[float, typer.Option(min=0.0, help="The cost of a deletion.")] = 1.0,
    substitute: Annotated[float, typer.Option(min=0.0, help="The cost of a substitution.")] = 1.0,
    words: Annotated[bool, typer.Option("--words", help="Edit words instead of characters.")] = False,
) -> None:
    """Show the edit distance between two strings: the table, the cheapest path through it, and the edits."""
    from weft.metrics.edit_distance import EditCosts, format_edit_table

    units, other = (source.split(), target.split()) if words else (list(source), list(target))
    print(format_edit_table(units, other, EditCosts(insert, delete, substitute)))
