"""`weft shortlist`: learn a lexical shortlist."""

from pathlib import Path
from typing import Annotated

import typer

from weft.cli.options import ModelArgument


def shortlist(
    model: ModelArgument,
    files: Annotated[
        list[Path] | None,
        typer.Argument(metavar="[FILE]...", help="Two text files or one .tsv. Default: its training data."),
    ] = None,
    per_token: Annotated[int, typer.Option(min=1, help="The number of target tokens for each source token.")] = 100,
    frequent: Annotated[int, typer.Option(min=0, help="The number of target tokens that are always included.")] = 100,
    pairs: Annotated[int, typer.Option(min=1, help="Learn from at most this many pairs, the first.")] = 100_000,
) -> None:
    """Learn which target tokens belong to which source tokens: weft translate --shortlist then computes no others.

    \b
    weft shortlist MODEL
    weft shortlist MODEL SOURCE TARGET
    """
    from weft.inference.shortlist_training import train_shortlist
    from weft.text.lexical_shortlist import ShortlistSize

    print(train_shortlist(model, files or [], ShortlistSize(per_token, frequent), pairs))
