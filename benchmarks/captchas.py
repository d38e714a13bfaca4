"""Captchas of five distorted characters, drawn by the package `captcha`: how many does a model read correctly?

From the root of the repository:

    python -m benchmarks.captchas make FOLDER                    # train.tsv, valid.tsv, test.tsv and their images
    weft train ocr-ctc data.folder=FOLDER --minutes 20 --out runs/captchas
    python -m benchmarks.captchas score runs/captchas FOLDER --json captchas.json

An image has 160 x 60 pixels and is determined by a seed, its split and its number, so the splits are disjoint. The
accuracy is reported with its 95 % interval (Wilson 1927).
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path
from random import Random
from typing import Annotated, Any
from unittest.mock import patch

import typer
from benchmarks.command_line import JsonFile, write_json
from benchmarks.machine import machine
from benchmarks.summary_statistics import Proportion

import weft
from weft.core.errors import UserError
from weft.core.files import write_atomically
from weft.core.seeds import derive_seed
from weft.inference.evaluation import example_sources
from weft.metrics.corpus_metrics import evaluate
from weft.metrics.references import read_tsv
from weft.metrics.scores import Segments
from weft.models.model import count_parameters

SYMBOLS = "23456789ABCDEFGHJKLMNPQRSTUVWXYZ"  # without 0, O, 1 and I, which look alike
LENGTH = 5
FOLDER_SIZE = 1000  # images per folder

app = typer.Typer(add_completion=False, no_args_is_help=True, rich_markup_mode=None)
Folder = Annotated[Path, typer.Argument(help="Folder of the tables and images.")]


class SeededSecrets:
    """A replacement for the module `secrets`, as far as the package uses it, with reproducible numbers."""

    def __init__(self, seed: int):
        generator = Random(seed)
        self.randbits = generator.getrandbits
        self.randbelow = generator.randrange
        self.choice = generator.choice


def draw(folder: Path, split: str, seed: int, number: int) -> str:
    """Write the image with this number, and return its line of the table."""
    from captcha import image

    image_seed = derive_seed(seed, f"captcha {split}", number)
    text = "".join(Random(image_seed).choices(SYMBOLS, k=LENGTH))
    name = f"{split}/{number // FOLDER_SIZE:03}/{number:06}.png"
    (folder / name).parent.mkdir(parents=True, exist_ok=True)
    with patch.object(image, "secrets", SeededSecrets(image_seed)):
        image.ImageCaptcha().write(text, str(folder / name))
    return f"{name}\t{text}\n"


@app.command()
def make(
    folder: Folder,
    train: Annotated[int, typer.Option(min=1, help="Training images.")] = 60_000,
    valid: Annotated[int, typer.Option(min=1, help="Validation images.")] = 500,
    test: Annotated[int, typer.Option(min=1, help="Test images.")] = 1000,
    seed: Annotated[int, typer.Option(help="Seed of the images.")] = 1,
    workers: Annotated[int, typer.Option(min=1, help="Number of processes.")] = 2,
) -> None:
    """Draw the captchas."""
    try:
        import captcha.image  # noqa: F401
    except ImportError:
        raise UserError("the package captcha is not installed: pip install -c constraints.txt -e '.[bench]'") from None
    with ProcessPoolExecutor(workers) as pool:
        for split, count in (("train", train), ("valid", valid), ("test", test)):
            lines = pool.map(partial(draw, folder, split, seed), range(count), chunksize=100)
            write_atomically(folder / f"{split}.tsv", "".join(lines).encode())
            print(f"{folder / split}.tsv: {count:,} images")


@app.command()
def score(
    run: Annotated[Path, typer.Argument(help="A run folder or a model folder.")],
    folder: Folder,
    json_file: JsonFile = None,
) -> None:
    """Score a model on test.tsv."""
    translator = weft.load(run)
    examples = read_tsv(folder / "test.tsv")
    outputs = [translation.text for translation in translator.translate(example_sources(translator, examples))]
    share = Proportion(
        sum(output in right for output, right in zip(outputs, examples.references, strict=True)), len(outputs)
    )
    print(format_score(share))
    figures = report(share, outputs, examples.references) | {"weights": count_parameters(translator.trained.model)}
    write_json(json_file, figures | {"machine": machine()})


def format_score(share: Proportion) -> str:
    low, high = share.interval()
    return f"{share.value():.1%} of {share.total:,} captchas are read correctly ({low:.1%} to {high:.1%})"


def report(share: Proportion, outputs: Sequence[str], references: Sequence[Sequence[str]]) -> dict[str, Any]:
    low, high = share.interval()
    (characters,) = evaluate(Segments(outputs, references), ["cer"])
    accuracy = {"accuracy": share.value(), "low": low, "high": high, "images": share.total}
    return accuracy | {"character_error_rate": characters.value / 100}


if __name__ == "__main__":
    try:
        app()
    except UserError as error:
        sys.exit(f"captchas: {error}")
