"""The command line. Two rules keep --help fast: a command imports what it needs inside its function, and no file of
commands postpones annotations (`from __future__ import annotations`), which Typer would have to evaluate.
"""

import io
import shutil
import sys
import textwrap
from typing import Annotated, NoReturn

import typer

from weft.cli.check import check
from weft.cli.complete import complete
from weft.cli.datasets import datasets_app
from weft.cli.demo import demo
from weft.cli.deployment import calibrate, export, shortlist
from weft.cli.distill import distill
from weft.cli.evaluate import compare, edit_distance, evaluate
from weft.cli.finetune import finetune
from weft.cli.help_layout import HELP_SETTINGS, PanelCommand, TopicGroup
from weft.cli.inspect_command import inspect_app
from weft.cli.noise import noise
from weft.cli.recipes import recipes, show
from weft.cli.runs import report, watch
from weft.cli.score import rerank, score
from weft.cli.serve import serve
from weft.cli.train import train
from weft.cli.translate import translate
from weft.core.errors import UserError
from weft.core.extras import missing_module_error
from weft.core.hardware import keep_freed_memory

app = typer.Typer(
    name="weft",
    help="Train, use and inspect sequence-to-sequence models.",
    cls=TopicGroup,
    context_settings=HELP_SETTINGS,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)

TRAINING = (check, train, finetune, distill, recipes, watch, report)
INFERENCE = (translate, serve, complete, rerank, score, calibrate, shortlist, export)
EVALUATION = (evaluate, compare, edit_distance)
OTHERS = (show, noise, demo)
for command in (*TRAINING, *INFERENCE, *EVALUATION, *OTHERS):
    app.command(cls=PanelCommand, context_settings=HELP_SETTINGS)(command)
for group in (inspect_app, datasets_app):
    app.add_typer(group, cls=TopicGroup, context_settings=HELP_SETTINGS)


@app.callback(invoke_without_command=True)
def root_options(
    version: Annotated[bool, typer.Option("--version", is_eager=True, help="Show the version and exit.")] = False,
) -> None:
    if version:
        from importlib.metadata import version as installed

        print(f"weft {installed('weft')}")
        raise typer.Exit


def main() -> NoReturn:
    """Run a command. Errors of the user are one message and exit code 2, never a traceback."""
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(encoding="utf-8")  # whatever the locale of the terminal
    keep_freed_memory()
    try:
        app(standalone_mode=True)  # handles Ctrl-C and closed pipes
        sys.exit(0)
    except UserError as error:
        message = str(error)
    except ModuleNotFoundError as error:
        missing = missing_module_error(error)
        if missing is None:
            raise
        message = str(missing)
    except OSError as error:  # for example a full disk
        message = f"{error.filename}: {error.strerror}" if error.filename else str(error)
    print(wrap_for_terminal(f"weft: {message}"), file=sys.stderr)
    sys.exit(2)


def wrap_for_terminal(message: str) -> str:
    """Wrap a message at word boundaries if stderr is a terminal."""
    if not sys.stderr.isatty():
        return message
    width = shutil.get_terminal_size().columns
    return "\n".join(
        textwrap.fill(line, width, break_long_words=False, break_on_hyphens=False) for line in message.split("\n")
    )
