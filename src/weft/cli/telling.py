"""What weft translate is to tell beside the text, from its options."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NamedTuple

import typer

from weft.core.errors import UserError

if TYPE_CHECKING:
    from weft.engine.wanted import Wanted
    from weft.store.model_folder import Trained

AlignmentFile = Annotated[
    Path | None,
    typer.Option(
        "--alignments", metavar="FILE", help="Also write which words belong together, as 0-0 1-2, a row for each line."
    ),
]
Attention = Annotated[bool, typer.Option("--attention", help="With --json: where each piece looked in the source.")]
Likeliest = Annotated[
    int | None, typer.Option(min=1, metavar="N", help="With --json: the N likeliest pieces at each place of the text.")
]
ReplaceUnknown = Annotated[
    bool, typer.Option("--replace-unknown", help="Where an unknown word stands, put the source word that it looks at.")
]
Dictionary = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE", help="With --replace-unknown: what to put for a source word; a word, a tab, its translation."
    ),
]


class Told(NamedTuple):
    """The options."""

    json: bool
    alignments: Path | None
    attention: bool
    likeliest: int | None
    replace_unknown: bool
    dictionary: Path | None

    def check(self) -> None:
        """Before anything is loaded: do they make sense together?"""
        for option, given in (("--attention", self.attention), ("--likeliest", self.likeliest is not None)):
            if given and not self.json:
                raise UserError(f"{option} is told by --json alone: add --json, or leave {option} out.")
        if self.dictionary is not None and not self.replace_unknown:
            raise UserError(
                "--dictionary says what --replace-unknown puts in place of a word: add --replace-unknown, or leave "
                "--dictionary out."
            )


def wanted_of(told: Told, trained: Trained) -> Wanted:
    """What these options want of this model; with --json, alignments too, if it has them."""
    from weft.control.dictionary import read_dictionary
    from weft.engine.wanted import Wanted, blindness, check_wanted

    if told.alignments is not None:
        check_wanted(trained, Wanted(alignment=True), "--alignments")
    if told.attention:
        check_wanted(trained, Wanted(attention=True), "--attention")
    if told.replace_unknown:
        check_wanted(trained, Wanted(replace_unknown=True), "--replace-unknown")
    return Wanted(
        alignment=told.alignments is not None or (told.json and not blindness(trained)),
        attention=told.attention,
        likeliest=told.likeliest or 0,
        replace_unknown=told.replace_unknown,
        dictionary={} if told.dictionary is None else read_dictionary(told.dictionary),
    )
