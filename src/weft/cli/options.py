"""Arguments and options that several commands have."""

from typing import Annotated

import typer

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
