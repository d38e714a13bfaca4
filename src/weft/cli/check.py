"""weft check."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from weft.cli.train import SETTING
from weft.core.errors import UserError

MANY = 4096 * 64  # pairs between two lines that tell how far it is
USAGE = (
    "Say what to check:\n"
    "  weft check train.en train.de     two text files, or one .tsv or .jsonl\n"
    "  weft check RECIPE.yaml           the data that a recipe names"
)


def check(
    what: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="RECIPE|FILES... [PLACE=VALUE]...",
            help="A recipe (.yaml); or the training data: two text files, one .tsv or one .jsonl. "
            "Then settings to change, as data.max_length=100.",
        ),
    ] = None,
    valid: Annotated[
        list[str] | None,
        typer.Option(metavar="FILE", help="Validation data, which must not be in training: one .tsv, or given twice."),
    ] = None,
    test: Annotated[list[str] | None, typer.Option(metavar="FILE", help="Test data, in the same way.")] = None,
    tokenizer: Annotated[
        Path | None,
        typer.Option(metavar="MODEL", help="A run or model folder, whose tokenizers tell what would be unknown."),
    ] = None,
    fix: Annotated[
        Path | None,
        typer.Option(metavar="FOLDER", help="Write a cleaned copy of the training data, and a log of every change."),
    ] = None,
    keep: Annotated[
        list[str] | None,
        typer.Option(metavar="KIND", help="With --fix: leave this kind as it is, as identical. May be repeated."),
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Look for bad data before an hour is gone. Exit code 1: something serious was found, and is not fixed."""
    settings = [item for item in what or [] if SETTING.match(item)]
    files = [item for item in what or [] if not SETTING.match(item)]
    if not files:
        raise UserError(USAGE)
    if keep and fix is None:
        raise UserError("--keep says what --fix leaves as it is: add --fix FOLDER, or leave --keep out.")
    held_out = {"valid": valid or [], "test": test or []}
    if look(files, settings, held_out, tokenizer, fix, keep or [], as_json=json):
        raise typer.Exit(1)


def look(
    files: list[str],
    settings: list[str],
    held_out: dict[str, list[str]],
    tokenizer: Path | None,
    out: Path | None,
    keep: list[str],
    *,
    as_json: bool,
) -> bool:
    """Check, tell, and fix; is something serious left?"""
    from json import dumps
    from tempfile import TemporaryDirectory

    from weft.check.fixing import check_fixable
    from weft.check.inputs import read_inputs
    from weft.check.kinds import DEALT_WITH, kinds_to_keep
    from weft.check.render import as_json as for_programs
    from weft.check.render import has_serious, render
    from weft.check.run import check as check_all
    from weft.check.run import fix

    kept = kinds_to_keep(keep)
    inputs = read_inputs(files, settings, held_out, tokenizer)
    if out is not None:
        check_fixable(out, inputs)
    with TemporaryDirectory(prefix="weft-") as name:
        folder = Path(name)
        checked = check_all(inputs, folder, tell_progress)
        if out is not None:
            print(f"weft: {fix(inputs, checked, kept, out, folder).told(out)}", file=sys.stderr)
    print(dumps(for_programs(checked.corpora), ensure_ascii=False) if as_json else render(checked.corpora))
    return has_serious(checked.corpora, 0 if out is None else DEALT_WITH & ~kept)


def tell_progress(name: str, done: int) -> None:
    if done % MANY == 0:
        print(f"weft: {name}: {done:,} pairs looked at", file=sys.stderr)
