"""`weft train`: train a model."""

from pathlib import Path
from typing import Annotated

import typer

from weft.cli.options import DeviceOption, parse_minutes, split_settings
from weft.core.errors import UserError

USAGE = (
    "There is nothing to train. Use one of:\n"
    "  weft train train.en train.de --out FOLDER     two text files, or one .tsv or .jsonl; settings are chosen\n"
    "  weft train RECIPE --out FOLDER                a .yaml file, or a name from `weft recipes`"
)


def train(
    data: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="RECIPE|FILES... [KEY=VALUE]...",
            help="A recipe; or the training data: two text files, or one .tsv, .jsonl, .csv, .parquet, .po, .tmx or "
            ".xlf. Then settings to change, for example model.encoder.layers=6.",
        ),
    ] = None,
    out: Annotated[Path | None, typer.Option(metavar="FOLDER", help="The run folder to create.")] = None,
    minutes: Annotated[
        float | None,
        typer.Option(
            parser=parse_minutes, metavar="N", help="Train as well as possible in this time, validation included."
        ),
    ] = None,
    languages: Annotated[
        str | None,
        typer.Option(
            metavar="CODE:CODE",
            help="Source and target language, such as en:de. Default: from file names, or the text.",
        ),
    ] = None,
    resume: Annotated[Path | None, typer.Option(metavar="FOLDER", help="Resume the run in this folder.")] = None,
    device: DeviceOption = "auto",
) -> None:
    """Train a model on your files or by a recipe, or resume a run."""
    files, settings = split_settings(data)
    if resume is not None and (data or languages or out is not None or minutes is not None):
        raise UserError(
            "--resume continues a run with its own settings: omit recipe, settings, --languages, --minutes and --out. "
            f"For a longer run, start another one: weft train {resume}/config.yaml --minutes 30 --out FOLDER"
        )
    if resume is None and not files:
        raise UserError(USAGE)
    if resume is None and out is None:
        command = " ".join(["weft train", *(data or [])])
        raise UserError(f"--out is missing: name the run folder, for example {command} --out runs/first")

    if languages is not None:
        from weft.data.languages import language_setting

        settings.append(language_setting(languages, settings))

    from weft.training.progress import open_display
    from weft.training.training_run import resume_training, start_training

    with open_display() as display:
        if resume is not None:
            outcome = resume_training(resume, display, device)
        elif out is not None:
            outcome = start_training(files, out, display, settings=settings, minutes=minutes, device=device)
    if outcome == "interrupted":
        raise typer.Exit(130)
