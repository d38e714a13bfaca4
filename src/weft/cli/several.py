"""Options that ask for several models."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from weft.core.errors import UserError

if TYPE_CHECKING:
    from weft.engine.several import Joining

Averaged = Literal["probabilities", "log-probabilities"]

Others = Annotated[
    list[Path] | None,
    typer.Option(
        "--with", metavar="MODEL", help="Another model of the same target pieces: an ensemble. May be repeated."
    ),
]
Weights = Annotated[
    str | None,
    typer.Option(metavar="W1,W2,...", help="How much each model counts, as 1,2,1. Default: all the same."),
]
Mean = Annotated[Averaged | None, typer.Option(help="What an ensemble averages. Default: probabilities.")]


def check_several(others: list[Path] | None, weights: str | None, mean: Averaged | None) -> None:
    """Before anything is loaded: are there several models, where something is said of them?"""
    for option, value in (("--weights", weights), ("--mean", mean)):
        if value is not None and not others:
            raise UserError(f"{option} is for several models: add them by --with MODEL, or leave {option} out.")


def joining_of(others: list[Path] | None, weights: str | None, mean: Averaged | None) -> Joining | None:
    """The ensemble that these options ask for."""
    from weft.engine.several import Joining

    check_several(others, weights, mean)
    if not others:
        return None
    return Joining(tuple(others), None if weights is None else numbers_of(weights), mean or "probabilities")


def numbers_of(weights: str) -> tuple[float, ...]:
    """1,2,1 -> the numbers."""
    try:
        return tuple(float(number) for number in weights.split(","))
    except ValueError:
        raise UserError(f"--weights {weights}: should be numbers with commas between them, as 1,2,1.") from None
