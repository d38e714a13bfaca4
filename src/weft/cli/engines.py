"""Options that choose an engine, and what of the others only one of them can do."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Literal

import typer

if TYPE_CHECKING:
    from weft.cli.telling import Told
    from weft.control.asking import Asking

EngineOption = Annotated[
    Literal["auto", "torch", "ctranslate2"],
    typer.Option("--engine", help="What computes. auto: ctranslate2 where it says the same as torch, and is faster."),
]
PrecisionOption = Annotated[
    Literal["float32", "int16", "int8"] | None,
    typer.Option("--precision", help="Of the engine ctranslate2. int8 is the fastest, and may say a line otherwise."),
]
ShortlistOption = Annotated[
    bool,
    typer.Option("--shortlist", help="Choose outputs from the pieces that weft shortlist has learned: faster."),
]
Verbose = Annotated[bool, typer.Option("--verbose", "-v", help="Say which engine translates, and why.")]


def needs_of(told: Told, asking: Asking, others: Mapping[str, object]) -> tuple[str, ...]:
    """What of these options only the torch engine has, in words; `others`: by their names, false if not given."""
    asked = {
        "--json": told.json,
        "--alignments": told.alignments is not None,
        "--replace-unknown": told.replace_unknown,
        "--glossary": asking.glossary is not None,
        "--prefix": asking.prefix,
        "--json-input": asking.as_json,
        "--protect": asking.protect,
        **others,
    }
    return tuple(f"{option} is asked for" for option, given in asked.items() if given)
