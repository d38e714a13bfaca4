"""`weft datasets`: list and download datasets."""

import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from weft.data.datasets.download import DatasetFolder

datasets_app = typer.Typer(
    name="datasets", help="Download ready-made datasets.", no_args_is_help=True, rich_markup_mode=None
)


@datasets_app.command("list")
def list_datasets() -> None:
    """List the datasets that can be downloaded."""
    from weft.data.datasets.catalog import DATASETS, format_dataset_table

    print(format_dataset_table(DATASETS.values()))
    print("\nDownload one: weft datasets download NAME")


@datasets_app.command("download")
def download(
    name: Annotated[str, typer.Argument(metavar="NAME", help="A name from `weft datasets list`.")],
    out: Annotated[
        Path | None, typer.Option(metavar="FOLDER", help="The folder to create. Default: data/NAME.")
    ] = None,
    target_languages: Annotated[
        str | None,
        typer.Option(metavar="CODES", help="For software-strings: the languages, as in de,fr. Default: all."),
    ] = None,
) -> None:
    """Download a dataset with pip and write its training, validation and test data, with its license in SOURCE.txt."""
    from weft.data.datasets.catalog import find_dataset
    from weft.data.datasets.download import download_dataset

    entry = find_dataset(name)
    languages = [code.strip() for code in target_languages.split(",")] if target_languages is not None else []
    folder = download_dataset(
        entry,
        out or Path("data") / name,
        lambda text: print(text, file=sys.stderr, flush=True),
        languages=languages,
    )
    print(folder.source.read_text("utf-8"))
    print("Try it:", *example_commands(folder), sep="\n  ")


def example_commands(dataset: "DatasetFolder") -> list[str]:
    """Return shell commands that train a model on a dataset and test it."""
    run = Path("runs") / dataset.entry.name
    train = training_command(dataset, dataset.entry.minutes, run)
    return [shlex.join(train), shlex.join(["weft", "evaluate", str(run), str(dataset.test)])]


def training_command(dataset: "DatasetFolder", minutes: float, out: Path) -> list[str]:
    """Return `weft train FILE SETTING --minutes N --out FOLDER`."""
    from weft.config.yaml_files import dump_yaml_inline

    valid = f"data.valid={dump_yaml_inline([str(dataset.valid)])}"
    return ["weft", "train", str(dataset.train), valid, "--minutes", f"{minutes:g}", "--out", str(out)]
