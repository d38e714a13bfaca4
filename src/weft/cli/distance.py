"""weft distance."""

from __future__ import annotations

from typing import Annotated

import typer


def distance(
    source: Annotated[str, typer.Argument(metavar="A", help="Where to start, in quotation marks.")],
    target: Annotated[str, typer.Argument(metavar="B", help="What to make of it.")],
    insert: Annotated[float, typer.Option(min=0.0, help="What it costs to insert.")] = 1.0,
    delete: Annotated[float, typer.Option(min=0.0, help="What it costs to delete.")] = 1.0,
    substitute: Annotated[float, typer.Option(min=0.0, help="What it costs to put one for another.")] = 1.0,
    words: Annotated[bool, typer.Option("--words", help="Edit words instead of characters.")] = False,
) -> None:
    """Show the edit distance between two strings: the table, the way back through it, and the edits."""
    from weft.metric.distance import Costs
    from weft.metric.distance_table import draw

    one, other = (source.split(), target.split()) if words else (list(source), list(target))
    print(draw(one, other, Costs(insert, delete, substitute)))
