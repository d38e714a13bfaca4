"""Arguments and options that several commands share."""

import math
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Literal

import typer

from weft.core.arguments import MIN_MINUTES
from weft.core.arguments import refuse_options as refuse_options
from weft.core.arguments import require_option as require_option
from weft.core.errors import UserError

SETTING_PATTERN = re.compile(r"[a-z_]+(\.[a-z_0-9]+)*=")  # how KEY=VALUE begins

SEARCH_PANEL, OUTPUT_PANEL = "Search options", "Output options"

ModelArgument = Annotated[Path, typer.Argument(metavar="MODEL", help="A run folder or a model folder.")]
DeviceOption = Annotated[str, typer.Option(help="The device: auto, cpu, cuda, cuda:1 or mps.")]
SetOption = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="KEY=VALUE",
        rich_help_panel=SEARCH_PANEL,
        help="Change a setting, such as translate.ctc_weight=0.3.",
    ),
]
OverridesArgument = Annotated[
    list[str] | None,
    typer.Argument(metavar="[KEY=VALUE]...", help="Settings to change, such as model.encoder.layers=6."),
]
BeamOption = Annotated[
    int | None,
    typer.Option(
        min=1,
        rich_help_panel=SEARCH_PANEL,
        help="The beam size; 1 is greedy search. Default: as the model was configured.",
    ),
]
JsonOption = Annotated[bool, typer.Option("--json", rich_help_panel=OUTPUT_PANEL, help="Print JSON.")]
OutputOption = Annotated[
    Path | None,
    typer.Option(metavar="FILE", rich_help_panel=OUTPUT_PANEL, help="The file to write. Default: standard output."),
]


def print_result(text: str, output: Path | None) -> None:
    """Print a result, or write it to the file of --output."""
    if output is None:
        print(text)
    else:
        from weft.core.files import write_atomically

        write_atomically(output, f"{text}\n".encode())


def parse_minutes(text: str) -> float:
    """Parse the length of a run in minutes."""
    try:
        minutes = float(text)
    except ValueError:
        minutes = math.nan
    if not MIN_MINUTES <= minutes < math.inf:
        raise UserError(
            f"--minutes {text}: must be a number of minutes, at least {MIN_MINUTES}, for example 30 or 0.5."
        )
    return minutes


BackendOption = Annotated[
    Literal["auto", "torch", "ctranslate2"],
    typer.Option(help="The library. auto: ctranslate2 where its outputs are the same."),
]
PrecisionOption = Annotated[
    Literal["float32", "int16", "int8"] | None,
    typer.Option(help="The precision of ctranslate2. int8 may change some outputs."),
]


def split_settings(arguments: Sequence[str] | None) -> tuple[list[str], list[str]]:
    """Split arguments into files and settings (KEY=VALUE)."""
    settings = [argument for argument in arguments or [] if SETTING_PATTERN.match(argument)]
    return [argument for argument in arguments or [] if argument not in settings], settings


def parse_weights(weights: str) -> tuple[float, ...]:
    """Parse numbers that are separated by commas."""
    try:
        return tuple(float(number) for number in weights.split(","))
    except ValueError:
        raise UserError(f"--weights {weights}: must be numbers separated by commas, for example 1,2,1.") from None
