"""weft shortlist."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def shortlist(
    model: Annotated[Path, typer.Argument(metavar="MODEL", help="A run folder or a model folder.")],
    files: Annotated[
        list[Path] | None,
        typer.Argument(
            metavar="[FILE]...", help="Two text files, or one .tsv or .jsonl. Default: what it was trained on."
        ),
    ] = None,
    best: Annotated[int, typer.Option(min=1, help="So many target pieces for each source piece.")] = 100,
    frequent: Annotated[int, typer.Option(min=0, help="So many of the most frequent target pieces for all.")] = 100,
    pairs: Annotated[int, typer.Option(min=1, help="Learn from so many pairs at most, the first.")] = 100_000,
) -> None:
    """Learn which target pieces belong to which source pieces: weft translate --shortlist then looks at no others.

    \b
    weft shortlist MODEL
    weft shortlist MODEL SOURCE TARGET
    """
    from weft.engine.shortlisting import learn_shortlist, render
    from weft.text.shortlist import Size

    print(render(learn_shortlist(model, files or [], Size(best, frequent), pairs)))
