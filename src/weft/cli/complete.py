"""`weft complete`: complete text with a language model."""

from pathlib import Path
from typing import Annotated

import typer

from weft.cli.options import DeviceOption
from weft.core.errors import UserError


def complete(
    model: Annotated[Path, typer.Argument(metavar="MODEL", help="A run or model folder of a language model.")],
    prompt: Annotated[
        list[str] | None, typer.Argument(metavar="PROMPT", help="The beginning of a line. Default: standard input.")
    ] = None,
    samples: Annotated[int, typer.Option(min=1, help="The number of completions of each prompt.")] = 1,
    temperature: Annotated[
        float | None, typer.Option(min=0.0001, help="The sampling temperature; lower is less surprising. Default: 1.")
    ] = None,
    seed: Annotated[int | None, typer.Option(help="The seed of the samples. Default: 1.")] = None,
    beam_search: Annotated[
        bool, typer.Option("--beam-search", help="Search for the most probable completions instead of sampling.")
    ] = False,
    device: DeviceOption = "auto",
) -> None:
    """Complete the beginning of a line, or each line of standard input, with a language model."""
    from weft.inference.language_model import beam_completer, load_language_model, sampling_completer
    from weft.inference.translation_io import read_input_lines, write_lines

    if beam_search and (temperature is not None or seed is not None):
        raise UserError("--beam-search does not sample: omit --temperature and --seed, or --beam-search.")
    trained = load_language_model(model, device)
    if beam_search:
        completer = beam_completer(trained, samples)
    else:
        temperature, seed = 1.0 if temperature is None else temperature, 1 if seed is None else seed
        completer = sampling_completer(trained, samples, temperature, seed)
    prompts = read_input_lines(None) if prompt is None else [" ".join(prompt)]
    write_lines((f"{line}\n" for line in completer.stream(prompts)), None)
