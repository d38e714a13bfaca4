"""The run folder: what a run writes, and where.

config.yaml      the resolved configuration, defaults written out
recipe.yaml      the chosen recipe, to edit, with the reasons (only where one was chosen)
data.json        the data table
source.tokenizer.json (of pictures: source.picture.json), target.tokenizer.json
log.jsonl        a line per report of progress
tensorboard/     the same for TensorBoard (only with train.tensorboard)
checkpoints/     the newest two, for going on
best/  last/     model folders
"""

import shlex
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from weft.config.document import as_text, read_document
from weft.config.reader import describe, read
from weft.config.recipe import Recipe
from weft.config.registry import REGISTRY
from weft.core.errors import UserError
from weft.data.report import SplitReport
from weft.store import runs
from weft.store.files import remove_leftovers, write_atomically
from weft.store.json_files import read_as
from weft.store.model_folder import write_json
from weft.store.new_folders import check_free, new_folder
from weft.store.readers import load_tokenizers, save_tokenizers
from weft.store.run_log import LOG
from weft.text.reader import Reader
from weft.text.tokenizer import Tokenizer
from weft.training.board import EVENTS
from weft.training.changes import check_fixed, fixed
from weft.training.prepare import PreparedData
from weft.training.ranks import Ranks

CONFIG, WRITTEN, DATA = runs.CONFIG, "recipe.yaml", "data.json"


@dataclass(frozen=True)
class Facts:
    """What data.json holds. fingerprints: of what the run reads, by its place in the recipe. splits: the data table.

    fixed: the settings that cannot change any more (runs of some development versions do not tell).
    """

    fingerprints: dict[str, str]
    splits: tuple[SplitReport, ...]
    fixed: dict[str, Any] | None = None


@dataclass(frozen=True)
class RunFolder:
    path: Path

    @property
    def log(self) -> Path:
        return self.path / LOG

    @property
    def events(self) -> Path:
        return self.path / EVENTS

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

    def create(self, recipe: Recipe, prepared: PreparedData, written: str | None, ranks: Ranks) -> None:
        """Make the folder, with all that a later resume needs to begin at the same first step."""
        ranks.remember(self._beginning)
        with new_folder(self.path) as new:
            fill(new, recipe, prepared, written)

    def begin(self, recipe: Recipe, prepared: PreparedData, ranks: Ranks) -> None:
        """The same in a folder that holds what the run is made from; to be locked first."""
        ranks.remember(self._beginning)
        fill(self.path, recipe, prepared, None)

    def check_not_begun(self) -> None:
        """May this process begin the run? To be asked once the folder is locked."""
        if (self.path / CONFIG).is_file():
            raise UserError(f"{self.path}: another process has begun this run meanwhile; to go on with it, start again")

    def began(self, ranks: Ranks) -> bool:
        """Was this run begun by processes in whose place these were started?"""
        return ranks.remembers(self._beginning) and ranks.first((self.path / CONFIG).is_file)

    @property
    def _beginning(self) -> str:
        return f"began {self.path.absolute()}"

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

    def facts(self) -> Facts:
        return read_as(self.path / DATA, Facts)

    def check_same_settings(self, recipe: Recipe) -> None:
        """Are those that cannot change as they were when the run began?"""
        before = self.facts().fixed
        if before is not None:
            check_fixed(before, fixed(describe(recipe, REGISTRY)), self.path / CONFIG)

    def check_same_data(self, prepared: PreparedData) -> None:
        """Going on with other data, or another teacher, would be another run."""
        before = self.facts().fingerprints
        changed = [place for place, value in prepared.fingerprints.items() if before.get(place) != value]
        if changed:
            raise UserError(
                f"the files of {changed[0]} have changed since the run in {self.path} began, so it cannot go on. "
                "Put the old files back, or start a new run with another --out."
            )

    @contextmanager
    def locked(self, ranks: Ranks) -> Iterator[None]:
        """No other process can write into the run: the first rank locks it."""
        with nullcontext() if ranks.number else runs.alone_in(self.path):
            yield


def fill(folder: Path, recipe: Recipe, prepared: PreparedData, written: str | None) -> None:
    """Write what a run begins with; the configuration last, since it makes the folder a run folder."""
    save_tokenizers(folder, prepared.source, prepared.target)
    facts = Facts(prepared.fingerprints, prepared.report.splits, fixed(describe(recipe, REGISTRY)))
    write_json(folder / DATA, asdict(facts))
    if written is not None:
        write_atomically(folder / WRITTEN, written.encode())
    write_recipe(folder, recipe)


def write_recipe(folder: Path, recipe: Recipe) -> None:
    write_atomically(folder / CONFIG, as_text(describe(recipe, REGISTRY)).encode())
