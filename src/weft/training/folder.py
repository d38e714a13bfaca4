"""The run folder: what a run writes, and where.

config.yaml      the resolved configuration, defaults written out
recipe.yaml      the chosen recipe, to edit, with the reasons (only where one was chosen)
data.json        the data table
source.tokenizer.json (of pictures: source.picture.json), target.tokenizer.json
log.jsonl        a line per report of progress
checkpoints/     the newest two, for going on
best/  last/     model folders
"""

import json
import shlex
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from weft.config.document import as_text, read_document
from weft.config.reader import describe, read
from weft.config.recipe import Recipe
from weft.config.registry import REGISTRY
from weft.core.errors import UserError
from weft.store.files import check_free, locked, new_folder, remove_leftovers, write_atomically
from weft.store.model_folder import load_tokenizers, save_tokenizers, write_json
from weft.text.reader import Reader
from weft.text.tokenizer import Tokenizer
from weft.training.prepare import PreparedData

CONFIG, WRITTEN, DATA = "config.yaml", "recipe.yaml", "data.json"


@dataclass(frozen=True)
class RunFolder:
    path: Path

    @property
    def log(self) -> Path:
        return self.path / "log.jsonl"

    @property
    def checkpoints(self) -> Path:
        return self.path / "checkpoints"

    @property
    def best(self) -> Path:
        return self.path / "best"

    @property
    def last(self) -> Path:
        return self.path / "last"

    def go_on_command(self) -> str:
        """What a person types to go on with this run."""
        return f"weft train --resume {shlex.quote(str(self.path))}"

    def check_free(self) -> None:
        """Before any work: can the folder be made?"""
        taken = (
            f". To go on with that run: {self.go_on_command()}; "
            "to start a new one, give another --out or remove the folder."
        )
        check_free(self.path, taken, "--out")

    def create(self, recipe: Recipe, prepared: PreparedData, written: str | None) -> None:
        """Make the folder, with all that a later resume needs to begin at the same first step."""
        with new_folder(self.path) as new:
            fill(new, recipe, prepared, written)

    def recipe(self) -> Recipe:
        """The configuration of the run that is here."""
        if not (self.path / CONFIG).is_file():
            raise UserError(f"{self.path} is not a run folder: it has no {CONFIG}. Give the --out of an earlier run.")
        return read(read_document(self.path / CONFIG), Recipe, REGISTRY)

    def keep_recipe(self, recipe: Recipe) -> None:
        """Write down what has been decided since the run began."""
        write_recipe(self.path, recipe)

    def tidy(self) -> None:
        """Bring back or remove what a killed run was in the middle of writing."""
        for place in (self.path, self.checkpoints):
            if place.is_dir():
                remove_leftovers(place)

    def tokenizers(self) -> tuple[Reader, Tokenizer]:
        return load_tokenizers(self.path)

    def check_same_data(self, prepared: PreparedData) -> None:
        """Going on with other data, or another teacher, would be another run."""
        facts = json.loads((self.path / DATA).read_text("utf-8"))
        changed = [place for place, value in prepared.fingerprints.items() if facts["fingerprints"].get(place) != value]
        if changed:
            raise UserError(
                f"the files of {changed[0]} have changed since the run in {self.path} began, so it cannot go on. "
                "Put the old files back, or start a new run with another --out."
            )

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Two processes that write into one run would spoil it."""
        with locked(self.path) as free:
            if not free:
                raise UserError(f"{self.path}: another process is training this run; stop it first, or wait.")
            yield


def fill(folder: Path, recipe: Recipe, prepared: PreparedData, written: str | None) -> None:
    """Write what a run begins with; the configuration last, since it makes the folder a run folder."""
    save_tokenizers(folder, prepared.source, prepared.target)
    write_json(folder / DATA, {"fingerprints": prepared.fingerprints, **prepared.report.to_json()})
    if written is not None:
        write_atomically(folder / WRITTEN, written.encode())
    write_recipe(folder, recipe)


def write_recipe(folder: Path, recipe: Recipe) -> None:
    write_atomically(folder / CONFIG, as_text(describe(recipe, REGISTRY)).encode())
