"""The folder of a fine-tuned model: a run folder, and beside the run what it is made from.

recipe.yaml      the recipe, with its reasons
finetune.json    what was asked for, and what the model was worth before
start/           a model folder: the old model, with new pieces if there are any; and in checkpoints/ its optimiser
pairs/           new pairs without those held out, and old ones, where no files hold just these
tuned.json       before and after, on new data and at home
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter, ValidationError
from torch import Tensor

from weft.core.errors import UserError
from weft.data.corpus import Corpus
from weft.store.checkpoint import Checkpoint, save_checkpoint
from weft.store.files import write_atomically
from weft.store.model_folder import Trained, save_model, weights_of
from weft.store.new_folders import new_folder
from weft.student.distilling import write_pairs
from weft.training.folder import CONFIG, WRITTEN, RunFolder
from weft.training.initial import CHECKPOINTS

ASKED = "finetune.json"
MODEL = "best"  # in start/, which is laid out as a run folder is


@dataclass(frozen=True)
class Asked:
    """What a person asked for, and what it was about: going on is for the same alone.

    fingerprint, data: of the model, and of the new files.
    """

    model: str
    fingerprint: str
    files: tuple[str, ...]
    data: str
    mix: float
    freeze: tuple[str, ...]
    extend: int | None
    keep_optimiser: bool
    settings: tuple[str, ...]
    minutes: float | None


@dataclass(frozen=True)
class Begun:
    """The same, and the scores of the model before, by what they were measured on."""

    asked: Asked
    before: dict[str, list[dict[str, Any]]]


@dataclass(frozen=True)
class TuningFolder:
    path: Path

    @property
    def run(self) -> RunFolder:
        return RunFolder(self.path)

    @property
    def recipe(self) -> Path:
        return self.path / WRITTEN

    @property
    def start(self) -> Path:
        return self.path / "start"

    @property
    def table(self) -> Path:
        return self.path / "tuned.json"

    def pairs(self, name: str) -> Path:
        return self.path / "pairs" / f"{name}.jsonl"

    def has_begun(self) -> bool:
        return (self.path / ASKED).is_file()

    def has_run(self) -> bool:
        return (self.path / CONFIG).is_file()

    def create(
        self,
        begun: Begun,
        written: str,
        start: Trained,
        moments: Mapping[str, Tensor],
        corpora: Mapping[str, Corpus],
        fields: tuple[str, str],
    ) -> None:
        """Make the folder with all that was decided; what was asked last, since it makes the folder what it is."""
        with new_folder(self.path) as new:
            inside = TuningFolder(new)
            inside.start.mkdir()
            save_model(inside.start / MODEL, start, weights_of(start.model))
            if moments:
                save_checkpoint(inside.start / CHECKPOINTS, 0, Checkpoint({"optimiser": moments}, {}))
            inside.pairs("").parent.mkdir()
            for name, corpus in corpora.items():
                write_pairs(inside.pairs(name), corpus.pairs(), fields)
            write_atomically(inside.recipe, written.encode())
            text = json.dumps(asdict(begun), indent=2, ensure_ascii=False)
            write_atomically(new / ASKED, f"{text}\n".encode())

    def begun(self) -> Begun:
        place = self.path / ASKED
        try:
            return TypeAdapter(Begun).validate_json(place.read_bytes())
        except ValidationError as error:
            raise UserError(
                f"{place}: is damaged ({error.errors()[0]['msg']}); begin anew with another --out"
            ) from None

    def check_same(self, asked: Asked) -> None:
        """Going on with something else would be another run."""
        before, now = asdict(self.begun().asked), asdict(asked)
        for name, told in (
            ("fingerprint", "with another model"),
            ("files", "with other files"),
            ("data", "with the same files before they were changed"),
            ("mix", "with another --mix"),
            ("freeze", "with another --freeze"),
            ("extend", "with another --extend"),
            ("keep_optimiser", "with --keep-optimiser" if before["keep_optimiser"] else "without --keep-optimiser"),
            ("settings", "with other settings"),
            ("minutes", "with other --minutes"),
        ):
            if before[name] != now[name]:
                raise UserError(
                    f"{self.path} was begun {told}. To go on with it, give the command that began it "
                    f"(it is in {self.path / ASKED}); for a new one, give another --out."
                )
