"""The command line: a file a command. What a command needs is imported inside it, so that help comes at once."""

from __future__ import annotations

import io
import shutil
import sys
import textwrap
from typing import Annotated, NoReturn

import typer

from weft.cli.calibrate import calibrate
from weft.cli.check import check
from weft.cli.compare import compare
from weft.cli.complete import complete
from weft.cli.corpus import corpus
from weft.cli.demo import demo
from weft.cli.distance import distance
from weft.cli.evaluate import evaluate
from weft.cli.export import export
from weft.cli.finetune import finetune
from weft.cli.inspect import inspect
from weft.cli.noise import noise
from weft.cli.report import report
from weft.cli.rerank import rerank
from weft.cli.score import score
from weft.cli.serve import serve
from weft.cli.shortlist import shortlist
from weft.cli.show import show
from weft.cli.student import student
from weft.cli.train import train
from weft.cli.translate import translate
from weft.cli.watch import watch
from weft.core.errors import UserError
from weft.core.memory import keep_freed_memory

app = typer.Typer(
    name="weft",
    help="Sequence-to-sequence models: train them, translate with them, look inside.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)

for command in (
    check,
    train,
    finetune,
    student,
    watch,
    translate,
    serve,
    rerank,
    complete,
    evaluate,
    report,
    calibrate,
    shortlist,
    export,
    compare,
    score,
    distance,
    show,
    noise,
    demo,
):
    app.command()(command)
for group in (inspect, corpus):
    app.add_typer(group)


@app.callback(invoke_without_command=True)
def options(
    version: Annotated[bool, typer.Option("--version", is_eager=True, help="Show the version and exit.")] = False,
) -> None:
    if version:
        from importlib.metadata import version as installed

        print(f"weft {installed('weft')}")
        raise typer.Exit


def main() -> NoReturn:
    """Run a command; a user's mistake is one message and exit code 2, never a traceback."""
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(encoding="utf-8")  # as all text here, whatever the terminal says
    keep_freed_memory()
    try:
        app(standalone_mode=True)  # Ctrl-C and a reader of our output who went away are dealt with in there
    except UserError as error:
        stop(str(error), 2)
    except OSError as error:  # a full disk, a name that is too long ...
        stop(f"{error.filename}: {error.strerror}" if error.filename else str(error), 2)
    sys.exit(0)


def stop(message: str, code: int) -> NoReturn:
    print(for_a_person(f"weft: {message}"), file=sys.stderr)
    sys.exit(code)


def for_a_person(message: str) -> str:
    """Broken between words in a terminal, where it would be broken inside them; else as it is, for programs."""
    if not sys.stderr.isatty():
        return message
    width = shutil.get_terminal_size().columns
    return "\n".join(
        textwrap.fill(line, width, break_long_words=False, break_on_hyphens=False) for line in message.split("\n")
    )
