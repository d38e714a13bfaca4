"""Arguments and options that several commands have."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated

import typer

from weft.core.errors import UserError

Device = Annotated[str, typer.Option(help="auto, cpu, cuda, cuda:1, mps.")]
Settings = Annotated[
    list[str] | None,
    typer.Option(
        "--set", metavar="PLACE=VALUE", help="Change a setting, as translate.length_factor=3. May be repeated."
    ),
]
Overrides = Annotated[
    list[str] | None, typer.Argument(metavar="[PLACE=VALUE]...", help="Settings to change, as model.encoder.layers=6.")
]
Beam = Annotated[int | None, typer.Option(min=1, help="Beam size; 1 is greedy. Default: as the model was configured.")]


def refuse(what: str, given: Mapping[str, object], purpose: str) -> None:
    """Of these options none makes sense here: what was given, by its name; a false value was not."""
    names = [name for name, value in given.items() if value]
    if names:
        raise UserError(f"{what}: leave out {', '.join(names)}, which {'is' if len(names) == 1 else 'are'} {purpose}.")
