"""What weft translate is to ask of every line, from its options."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from weft.core.errors import UserError

if TYPE_CHECKING:
    from weft.control.asking import Asking
    from weft.control.spans import Kind

GlossaryFile = Annotated[
    Path | None,
    typer.Option(
        "--glossary", metavar="FILE", help="Terms and their translations, with a tab between: they are kept to."
    ),
]
Prefix = Annotated[str | None, typer.Option(metavar="TEXT", help="Every output begins with this text.")]
JsonInput = Annotated[
    bool, typer.Option("--json-input", help='A JSON object a line: {"text": ..., "include": [...], ...}.')
]
Protect = Annotated[
    str | None,
    typer.Option(
        metavar="KIND,KIND,...", help="Copy these as they are: urls, emails, numbers, placeholders, markup; or all."
    ),
]


def asking_of(glossary: Path | None, prefix: str | None, json_input: bool, protect: str | None) -> Asking:
    """What these options ask of a line."""
    from weft.control.asking import Asking
    from weft.control.glossary import read_glossary

    terms = None if glossary is None else read_glossary(glossary)
    return Asking(terms, prefix or "", as_json=json_input, protect=kinds_in(protect))


def kinds_in(protect: str | None) -> tuple[Kind, ...]:
    """The kinds of spans that --protect names."""
    from weft.control.spans import KINDS, kinds_of

    if protect is None:
        return ()
    try:
        return KINDS if protect == "all" else kinds_of(name.strip() for name in protect.split(","))
    except UserError as error:
        raise UserError(f"--protect {protect}: {error}") from error
