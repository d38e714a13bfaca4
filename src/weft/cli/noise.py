"""`weft noise`: create misspellings."""

import sys
from pathlib import Path
from typing import Annotated, Literal

import typer

from weft.core.errors import UserError


def noise(
    words: Annotated[
        Path | None, typer.Argument(metavar="WORDS", help="Correct words, one per line. Default: standard input.")
    ] = None,
    output: Annotated[
        Path | None, typer.Option("--output", "--out", help="The .tsv to write. Default: standard output.")
    ] = None,
    copies: Annotated[int, typer.Option(min=1, help="The number of pairs for each line.")] = 5,
    errors: Annotated[
        float | None, typer.Option(min=1.0, help="The mean number of errors in a wrong word. Default: 1.2, or learned.")
    ] = None,
    clean_rate: Annotated[float, typer.Option(min=0.0, max=1.0, help="The fraction of words that stay correct.")] = 0.1,
    layout: Annotated[
        Literal["qwerty", "qwertz", "azerty"] | None, typer.Option(help="The keyboard layout. Default: qwerty.")
    ] = None,
    rate: Annotated[
        list[str] | None,
        typer.Option(metavar="KIND=NUMBER", help="The weight of replace, sound, insert, double, drop or swap."),
    ] = None,
    learn_from: Annotated[
        Path | None, typer.Option(metavar="PAIRS", help="A .tsv to learn the errors from: misspelling, correct word.")
    ] = None,
    exclude: Annotated[
        list[Path] | None, typer.Option(metavar="FILE", help="A .tsv of misspellings to omit. Repeatable.")
    ] = None,
    seed: Annotated[int, typer.Option(help="The seed of the errors.")] = 1,
) -> None:
    """Misspell correct words, to create pairs on which a model can learn to correct them."""
    from weft.core.files import check_output_file
    from weft.data.corpus import Corpus
    from weft.data.error_models import KeyboardErrorModel, learn_error_model, parse_typo_rates
    from weft.data.typos import TypoGenerator, TypoPairs, check_tsv_output, read_clean_lines, read_held_out_typos
    from weft.inference.translation_io import read_input_lines, write_lines

    if learn_from is not None and (layout is not None or rate):
        raise UserError("--learn-from learns the kinds of errors: omit --layout and --rate, or --learn-from.")
    check_output_file(output, [words, *(file for file in (learn_from, *(exclude or [])) if file is not None)])
    check_tsv_output(output)
    held_out = read_held_out_typos(exclude or [])
    lines = read_clean_lines(read_input_lines(words), str(words or "standard input"), copies)
    if learn_from is not None:
        learned = learn_error_model(Corpus([learn_from]).pairs(), str(learn_from))
        generator = TypoGenerator(learned, errors=errors or learned.errors, clean=clean_rate, seed=seed)
    else:
        keyboard = KeyboardErrorModel(layout or "qwerty", parse_typo_rates(rate or []))
        generator = TypoGenerator(keyboard, errors=errors or 1.2, clean=clean_rate, seed=seed)
    pairs = TypoPairs(lines, generator, held_out)
    write_lines((f"{wrong}\t{right}\n" for wrong, right in pairs), output)
    print(f"weft: {pairs.summary(exclude or [])}", file=sys.stderr)
