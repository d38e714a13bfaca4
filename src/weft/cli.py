"""The command line: one function a command. What a command needs is imported inside it, so that help comes at once."""

from __future__ import annotations

import io
import sys
from pathlib import Path
from typing import Annotated, NoReturn

import typer

from weft.core.errors import UserError

app = typer.Typer(
    name="weft",
    help="Sequence-to-sequence models: train them, translate with them, look inside.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)

Device = Annotated[str, typer.Option(help="auto, cpu, cuda, cuda:1, mps.")]
Settings = Annotated[
    list[str] | None,
    typer.Option(
        "--set", metavar="PLACE=VALUE", help="Change a setting, as translate.length_factor=3. May be repeated."
    ),
]
Overrides = Annotated[
    list[str] | None, typer.Argument(metavar="[PLACE=VALUE]...", help="Settings to change, as model.encoder.layers=6.")
]
Beam = Annotated[int | None, typer.Option(min=1, help="Beam size; 1 is greedy. Default: as the model was configured.")]


@app.callback(invoke_without_command=True)
def options(
    version: Annotated[bool, typer.Option("--version", is_eager=True, help="Show the version and exit.")] = False,
) -> None:
    if version:
        from importlib.metadata import version as installed

        print(f"weft {installed('weft')}")
        raise typer.Exit


@app.command()
def train(
    recipe: Annotated[
        Path | None, typer.Argument(metavar="RECIPE", help="A YAML file, such as configs/transformer-small.yaml.")
    ] = None,
    overrides: Overrides = None,
    out: Annotated[Path | None, typer.Option(metavar="FOLDER", help="The run folder to make.")] = None,
    resume: Annotated[Path | None, typer.Option(metavar="FOLDER", help="Go on with the run in this folder.")] = None,
    device: Device = "auto",
) -> None:
    """Train a model as a recipe says, or go on with a run that was stopped."""
    from weft.config.load import load_recipe
    from weft.training import run
    from weft.training.progress import display

    if resume is not None and (recipe is not None or out is not None):
        raise UserError("--resume goes on with a run as it was configured: leave out the recipe, settings and --out.")
    if resume is not None:
        with display() as shown:
            end = run.resume(resume, shown, device)
    elif recipe is not None and out is not None:
        loaded = load_recipe(recipe, overrides or [])
        with display() as shown:
            end = run.start(loaded, out, shown, device)
    else:
        raise UserError("Say what to train and where to keep it: weft train RECIPE --out FOLDER")
    if end == "interrupted":
        raise typer.Exit(130)


@app.command()
def translate(
    model: Annotated[Path, typer.Argument(help="A run folder or a model folder.")],
    input_file: Annotated[
        Path | None, typer.Argument(metavar="[INPUT]", help="Text, a sentence a line. Default: standard input.")
    ] = None,
    output: Annotated[Path | None, typer.Option(help="Where to write. Default: standard output.")] = None,
    json: Annotated[
        bool, typer.Option("--json", help="A JSON object a line, with scores, pieces and alternatives.")
    ] = False,
    beam: Beam = None,
    best: Annotated[int | None, typer.Option(min=1, help="How many alternatives to give with --json.")] = None,
    settings: Settings = None,
    device: Device = "auto",
) -> None:
    """Translate text, a line out for each line in."""
    from weft.engine.load import load_translator
    from weft.engine.output import write_translations

    if best is not None and not json:
        raise UserError("--best asks for alternatives, which only --json shows: add --json, or leave --best out.")
    translator = load_translator(model, device=device, beam=beam, best=best, overrides=settings or [])
    write_translations(translator, input_file, output, as_json=json)


@app.command()
def evaluate(
    what: Annotated[
        Path, typer.Argument(metavar="MODEL|TRANSLATIONS", help="A run or model folder, or a file of translations.")
    ],
    files: Annotated[
        list[Path],
        typer.Argument(
            metavar="[SOURCE] REFERENCE...",
            help="For a model: the source, then its references. For translations: the references.",
        ),
    ],
    metric: Annotated[list[str] | None, typer.Option(help="bleu, chrf, ter, exact, wer, cer. May be repeated.")] = None,
    lowercase: Annotated[bool, typer.Option("--lowercase", help="Ignore case.")] = False,
    tokenize: Annotated[
        str, typer.Option(help="sacrebleu's tokenizer for BLEU: 13a, intl, zh, ja-mecab, char, none ...")
    ] = "13a",
    json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
    output: Annotated[Path | None, typer.Option(help="Keep the translations in this file.")] = None,
    beam: Beam = None,
    settings: Settings = None,
    device: Device = "auto",
) -> None:
    """Score a model's translations, or a file of them, against one or several references."""
    from weft.engine.evaluation import evaluate_file, evaluate_model
    from weft.engine.load import load_translator
    from weft.metric.lines import Options
    from weft.metric.render import as_json, render

    options = Options(lowercase=lowercase, tokenize=tokenize)
    metrics = metric or ["bleu", "chrf", "ter", "exact", "wer", "cer"]
    if what.is_dir():
        if len(files) < 2:
            raise UserError(
                "A model is scored on a source file and at least one reference: weft evaluate MODEL SOURCE REFERENCE..."
            )
        translator = load_translator(what, device=device, beam=beam, overrides=settings or [])
        scores = evaluate_model(translator, files[0], files[1:], metrics, options, output)
    elif output is not None or beam is not None or settings:
        raise UserError(
            f"{what} is a file of translations: leave out --output, --beam and --set, which are for a model."
        )
    else:
        scores = evaluate_file(what, files, metrics, options)
    print(as_json(scores) if json else render(scores))


@app.command()
def show(
    what: Annotated[
        Path | None, typer.Argument(metavar="RECIPE|RUN", help="A recipe, a run folder or a model folder.")
    ] = None,
    overrides: Overrides = None,
    schema: Annotated[
        bool, typer.Option("--schema", help="Print the JSON schema of recipes, for editors, instead.")
    ] = False,
) -> None:
    """Show what a recipe says with every default written out, or what a model is and how it did."""
    from weft.engine.describe import describe_model, describe_recipe, describe_schema

    if schema:
        print(describe_schema())
        return
    if what is None:
        raise UserError("Say what to show: weft show RECIPE, weft show RUN or weft show --schema")
    if what.is_dir() and overrides:
        raise UserError(f"{what} is a model, and is as it is: {overrides[0]} can only be set for a recipe.")
    print(describe_model(what) if what.is_dir() else describe_recipe(what, overrides or []))


def main() -> NoReturn:
    """Run a command; a user's mistake is one message and exit code 2, never a traceback."""
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(encoding="utf-8")  # as all text here, whatever the terminal says
    try:
        app(standalone_mode=True)  # Ctrl-C and a reader of our output who went away are dealt with in there
    except UserError as error:
        stop(str(error), 2)
    except OSError as error:  # a full disk, a name that is too long ...
        stop(f"{error.filename}: {error.strerror}" if error.filename else str(error), 2)
    sys.exit(0)


def stop(message: str, code: int) -> NoReturn:
    print(f"weft: {message}", file=sys.stderr)
    sys.exit(code)
