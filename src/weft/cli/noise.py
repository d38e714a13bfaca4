"""weft noise."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Literal

import typer

from weft.core.errors import UserError


def noise(
    words: Annotated[
        Path | None,
        typer.Argument(
            metavar="WORDS",
            help="Right words, one a line, maybe a tab and how many copies to make. Default: standard input.",
        ),
    ] = None,
    output: Annotated[
        Path | None, typer.Option("--output", "--out", help="The .tsv to write. Default: standard output.")
    ] = None,
    copies: Annotated[int, typer.Option(min=1, help="Pairs to make of each line.")] = 5,
    errors: Annotated[
        float | None,
        typer.Option(min=1.0, help="Mistakes in a misspelled word, in the mean. Default: 1.2, or as in --like."),
    ] = None,
    clean: Annotated[float, typer.Option(min=0.0, max=1.0, help="The share of words that are left right.")] = 0.1,
    layout: Annotated[
        Literal["qwerty", "qwertz", "azerty"] | None, typer.Option(help="The keyboard. Default: qwerty.")
    ] = None,
    rate: Annotated[
        list[str] | None,
        typer.Option(
            metavar="KIND=NUMBER",
            help="How often a mistake is made, compared with others: replace, sound, insert, double, drop, swap. "
            "May be repeated.",
        ),
    ] = None,
    like: Annotated[
        Path | None,
        typer.Option(metavar="PAIRS", help="Learn the mistakes from this .tsv: misspelling, tab, right word."),
    ] = None,
    without: Annotated[
        list[Path] | None,
        typer.Option(metavar="FILE", help="Leave out the misspellings in its first column. May be repeated."),
    ] = None,
    seed: Annotated[int, typer.Option(help="Another number, other mistakes.")] = 1,
) -> None:
    """Misspell right words, to make pairs on which a model can learn to correct them."""
    from weft.data.corpus import Corpus
    from weft.engine.output import check_output, lines_of, write_lines
    from weft.noise.learned import learn_habits
    from weft.noise.noise import Noise
    from weft.noise.pairs import NoisyPairs, check_table, read_held_out, read_words
    from weft.noise.typist import Typist, read_rates

    if like is not None and (layout is not None or rate):
        raise UserError("--like learns which mistakes are made: leave out --layout and --rate, or --like.")
    check_output(output, [words, *(file for file in (like, *(without or [])) if file is not None)])
    check_table(output)
    held_out = read_held_out(without or [])
    wanted = read_words(lines_of(words), str(words or "standard input"), copies)
    if like is not None:
        learned = learn_habits(Corpus([like]).pairs(), str(like))
        noisy = Noise(learned, errors=errors or learned.errors, clean=clean, seed=seed)
    else:
        typist = Typist(layout or "qwerty", read_rates(rate or []))
        noisy = Noise(typist, errors=errors or 1.2, clean=clean, seed=seed)
    pairs = NoisyPairs(wanted, noisy, held_out)
    write_lines(((f"{wrong}\t{right}\n", False) for wrong, right in pairs), output)
    print(f"weft: {pairs.told(without or [])}", file=sys.stderr)
