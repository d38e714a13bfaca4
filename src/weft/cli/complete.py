"""weft complete."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from weft.cli.options import Device
from weft.core.errors import UserError


def complete(
    model: Annotated[
        Path, typer.Argument(metavar="MODEL", help="A run folder or a model folder, of a language model.")
    ],
    prompt: Annotated[
        list[str] | None,
        typer.Argument(metavar="PROMPT", help='How a line begins; "" for any. Default: lines of standard input.'),
    ] = None,
    samples: Annotated[int, typer.Option(min=1, help="How many completions of each prompt to give.")] = 1,
    temperature: Annotated[
        float | None, typer.Option(min=0.0001, help="Below 1 plainer, above 1 more surprising. Default: 1.")
    ] = None,
    seed: Annotated[int | None, typer.Option(help="Another number, other completions. Default: 1.")] = None,
    best: Annotated[bool, typer.Option("--best", help="The most probable completion instead of a random one.")] = False,
    device: Device = "auto",
) -> None:
    """Complete the beginning of a line, or each line of standard input, with a language model."""
    from weft.engine.completion import likeliest, load_language_model, sampled
    from weft.engine.output import lines_of, write_lines

    if best and (temperature is not None or seed is not None):
        raise UserError("--best draws nothing at random: leave out --temperature and --seed, or --best.")
    trained = load_language_model(model, device)
    completer = (
        likeliest(trained, samples)
        if best
        else sampled(trained, samples, 1.0 if temperature is None else temperature, 1 if seed is None else seed)
    )
    prompts = lines_of(None) if prompt is None else [" ".join(prompt)]
    write_lines(((f"{line}\n", False) for line in completer.stream(prompts)), None)
